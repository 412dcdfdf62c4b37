import { expect, it } from "vitest";
import { isLoopback } from "./loopback.ts";
import { refusalOfHost } from "./rest/guard.ts";

const LOOPBACK = [
  "127.0.0.1",
  "127.0.0.2",
  "127.255.255.254",
  "::1",
  "0:0:0:0:0:0:0:1",
  "localhost",
  "LOCALHOST",
];
const OPEN = ["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "fe80::1", "::1%eth0", "::ffff:10.0.0.1"];
const NAMES = ["127.0.0.1.example.com", "127.example.com", "localhost.example.com", "example.com"];

it("takes all of loopback for loopback, and nothing else", () => {
  for (const host of LOOPBACK) expect(isLoopback(host), host).toBe(true);
  for (const host of [...OPEN, ...NAMES]) expect(isLoopback(host), host).toBe(false);
});

it("AZ-6: answers on every address of loopback to that address, and to no name that looks like one", () => {
  for (const host of ["127.0.0.1", "127.0.0.2:7070", "127.9.8.7", "[::1]:7070", "localhost"])
    expect(refusalOfHost(host, {}), host).toBeUndefined();
  for (const host of [...NAMES, "127.0.0.1:7070.example.com", "128.0.0.1", "127.0.0"])
    expect(refusalOfHost(host, {})?.status, host).toBe(421);
});
