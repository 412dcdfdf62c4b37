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

it("one for requests in the clear where they were in the clear, whatever the port", () => {
  const calls = [
    call({ method: "GET", scheme: "http", port: 443 }),
    call({ method: "GET", scheme: "http", port: 8080 }),
    call({ method: "GET", scheme: "https", port: 8443 }),
  ];
  expect(proposeRules(calls)).toEqual([
    { ...RULE, protocol: "http", ports: [443], methods: ["GET"] },
    { ...RULE, protocol: "http", ports: [8080], methods: ["GET"] },
    { ...RULE, ports: [8443], methods: ["GET"] },
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

it("none that is there by now, and none for a place where one was of no use", () => {
  const rule = { effect: "allow" as const, host: "a.test", protocol: "https" as const };
  expect(proposeRules([call({})], [rule])).toEqual([]);
  expect(proposeRules([call({})], [{ ...rule, effect: "deny" }])).toHaveLength(1);
  expect(proposeRules([call({})], [{ ...rule, methods: ["GET"] }])).toHaveLength(1);
  const inside = call({ cure: { cidr: "10.0.0.1/32" }, rule: "rule-1" });
  expect(proposeRules([inside], [rule]), "it does not name the network").toHaveLength(1);
  expect(proposeRules([inside], [{ ...rule, cidrs: ["10.0.0.1/32"] }])).toEqual([]);
  expect(proposeRules([call({}), call({ cure: "none", rule: "rule-1" })])).toEqual([]);
});
