import { expect, it } from "vitest";
import { allowance, spellAllowance } from "./network.ts";

const HTTPS = { protocol: "https" } as const;

it.each([
  ["api.example.com", { ...HTTPS, host: "api.example.com" }],
  ["api.example.com/", { ...HTTPS, host: "api.example.com" }],
  ["*.example.com:8443", { ...HTTPS, host: "*.example.com", ports: [8443] }],
  ["http://host.dev", { host: "host.dev", protocol: "http" }],
  ["tcp://db.dev:5432", { host: "db.dev", protocol: "tcp", ports: [5432] }],
  ["GET,HEAD api.dev/v1/**", { ...HTTPS, host: "api.dev", methods: ["GET", "HEAD"], paths: ["/v1/**"] }],
  ["lan.dev@10.1.2.3/32", { ...HTTPS, host: "lan.dev", cidrs: ["10.1.2.3/32"] }],
  [
    "tcp://[fd00::1]:22@fd00::1/128",
    { ...{ host: "fd00::1", protocol: "tcp" }, ports: [22], cidrs: ["fd00::1/128"] },
  ],
])("%s is a rule", (words, rule) => {
  expect(allowance(words)).toEqual([rule]);
});

it.each(["", "api.example.com:port", "tcp://db.dev", "a b", "ftp://x.dev", "get x.dev"])(
  "%j is none",
  (words) => {
    expect(() => allowance(words)).toThrow();
  },
);

it("writes a rule as it can be typed, once for each network", () => {
  const rule = { effect: "allow", host: "lan.dev", protocol: "https" } as const;
  for (const one of [
    rule,
    { ...rule, ports: [8443] },
    { ...rule, methods: ["GET", "POST"], cidrs: ["10.0.0.1/32"] },
  ]) {
    const [words = ""] = spellAllowance(one);
    const { effect: _, ...typed } = one;
    expect(allowance(words.replaceAll("'", ""))).toEqual([typed]);
  }
  expect(spellAllowance({ ...rule, cidrs: ["10.0.0.1/32", "fd00::1/128"] })).toEqual([
    "lan.dev@10.0.0.1/32",
    "lan.dev@fd00::1/128",
  ]);
});
