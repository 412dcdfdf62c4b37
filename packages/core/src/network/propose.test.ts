import type { NetworkCall } from "@sandboxer/contract";
import { expect, it } from "vitest";
import { proposeRules } from "./propose.ts";

let seq = 0;
const call = (more: Partial<NetworkCall>): NetworkCall => {
  seq += 1;
  return { seq, atMs: 0, host: "a.test", port: 443, via: "name", verdict: "denied", ...more };
};
const RULE = { effect: "allow", host: "a.test", protocol: "https" };

it("one for each place, with the methods that were seen", () => {
  const calls = [
    call({ method: "POST" }),
    call({ method: "GET" }),
    call({ method: "GET" }),
    call({ port: 80 }),
    call({ port: 5432 }),
    call({ host: "b.test", verdict: "audited" }),
  ];
  expect(proposeRules(calls)).toEqual([
    { ...RULE, methods: ["GET", "POST"] },
    { ...RULE, protocol: "http" },
    { ...RULE, protocol: "tcp", ports: [5432] },
    { ...RULE, host: "b.test" },
  ]);
});

it("none for what was let through, broke off, has no name, or was decided by a rule", () => {
  const calls = [
    call({ verdict: "allowed" }),
    call({ verdict: "failed" }),
    call({ host: undefined, via: "address" }),
    call({ rule: "budget" }),
    call({ rule: "rule-1" }),
  ];
  expect(proposeRules(calls)).toEqual([]);
});

it("none where none helps, and one that names the network where that is what is missing", () => {
  expect(proposeRules([call({ cure: "none" })])).toEqual([]);
  const inside = [call({ cure: { cidr: "10.0.0.1/32" }, rule: "rule-1" }), call({})];
  expect(proposeRules(inside)).toEqual([{ ...RULE, cidrs: ["10.0.0.1/32"] }]);
});
