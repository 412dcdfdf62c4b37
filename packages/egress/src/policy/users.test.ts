import { expect, it } from "vitest";
import { NOBODY_KNOWS, userMayReach, userMayUse } from "./users.ts";

const nobody = { sharedSecrets: [], shared: [], own: [] };

it("users with an id of their own have their own names, and no others", () => {
  const users = {
    shared: [],
    sharedSecrets: [],
    own: [{ uid: 2000, attachmentId: "att_1", rules: ["api.x.test", "*.y.test:443"] }],
  };
  expect(userMayReach(users, 2000, "api.x.test", 80)).toBe(true);
  expect(userMayReach(users, 2000, "a.y.test", 443)).toBe(true);
  expect(userMayReach(users, 2000, "a.y.test", 80)).toBe(false);
  expect(userMayReach(users, 2000, "b.a.y.test", 443)).toBe(false);
  expect(userMayReach(users, 2000, "y.test", 443)).toBe(false);
  expect(userMayReach(users, 1000, "z.test", 443)).toBe(true);
});

it("whoever shares a user has what all who share it have in common", () => {
  const users = { sharedSecrets: [], shared: [["**.x.test"], ["a.x.test", "b.test"]], own: [] };
  expect(userMayReach(users, 1000, "a.x.test", 443)).toBe(true);
  expect(userMayReach(users, 1000, "b.x.test", 443)).toBe(false);
  expect(userMayReach(users, 0, "b.test", 443)).toBe(false);
  expect(userMayReach({ sharedSecrets: [], shared: [[]], own: [] }, 0, "a.x.test", 443)).toBe(false);
  expect(userMayReach(nobody, 1000, "anything.test", 1)).toBe(true);
  expect(userMayReach({ sharedSecrets: [], shared: [["**"]], own: [] }, 1000, "anything.test", 1)).toBe(true);
});

it("whoever left before it was known who they were has what everybody has", () => {
  const users = {
    shared: [["**.x.test"]],
    sharedSecrets: [["A", "B"]],
    own: [{ uid: 2000, attachmentId: "att_1", rules: ["a.x.test", "y.test"], secrets: ["B", "C"] }],
  };
  const reached = ["a.x.test", "b.x.test", "y.test"].filter((host) =>
    userMayReach(users, NOBODY_KNOWS, host, 443),
  );
  expect(reached).toEqual(["a.x.test"]);
  expect(["A", "B", "C"].filter((name) => userMayUse(users, NOBODY_KNOWS, name))).toEqual(["B"]);
  expect(userMayReach(nobody, NOBODY_KNOWS, "anything.test", 1)).toBe(true);
});
