import { expect, it } from "vitest";
import { lends } from "./find-users.ts";

const ann = { uid: 1000, username: "ann" };

it("finds a whole range by name or uid, and no other", () => {
  expect(lends("bob:100000:65536\nann:200000:65536\n", ann)).toBe(true);
  expect(lends("1000:200000:65535\n", ann)).toBe(true);
  for (const text of [
    "",
    "bob:100000:65536\n",
    "ann:100000:1000\n",
    "ann:0:65536\n",
    "ann\n",
    "anna:1:65536",
  ]) {
    expect(lends(text, ann), text).toBe(false);
  }
});
