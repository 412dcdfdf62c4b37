import { type GuardedNetwork, type GuardedNetworkInput, guardedNetworkSchema } from "@sandboxer/contract";
import { expect, it } from "vitest";
import { narrowNetwork } from "./narrow.ts";

const network = (more: Partial<GuardedNetworkInput>): GuardedNetwork =>
  guardedNetworkSchema.parse({ egress: "guarded", ...more });

it("keeps what a profile says of search, budget and denials, whatever is asked", () => {
  const own = network({ dlp: {}, budget: { upBytes: 10 }, denied: "reset" });
  const asked = network({
    dlp: { onMatch: "log" },
    budget: { upBytes: 20, downBytes: 5 },
    denied: "explain",
  });
  expect(narrowNetwork(own, asked)).toMatchObject({
    dlp: { onMatch: "block" },
    budget: { upBytes: 10, downBytes: 5 },
    denied: "reset",
  });
  expect(
    narrowNetwork(network({}), asked),
    "control: what it does not speak of is the request's",
  ).toMatchObject({ dlp: { onMatch: "log" }, budget: { upBytes: 20, downBytes: 5 }, denied: "explain" });
});

it("has a profile's denials, and none of the ways out that it does not", () => {
  const own = network({ rules: [{ host: "a.test" }, { host: "b.test", effect: "deny" }] });
  const less = narrowNetwork(own, network({ rules: [{ host: "c.test", effect: "deny" }] }));
  expect((less as GuardedNetwork).rules.map(({ host, effect }) => `${effect} ${host}`)).toEqual([
    "deny c.test",
    "deny b.test",
  ]);
  expect(() => narrowNetwork(own, network({ rules: [{ host: "c.test" }] }))).toThrow("c.test");
  expect(() => narrowNetwork(own, network({ mode: "audit" }))).toThrow("enforce");
  expect(() => narrowNetwork(own, network({ sets: ["anthropic"] }))).toThrow("anthropic");
});
