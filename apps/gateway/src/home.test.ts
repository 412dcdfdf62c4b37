import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { announceRunning, findRunning } from "./home.ts";
import { lockHome } from "./lock.ts";
import { openRootKey } from "./root-key.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandboxer-home-"));
  vi.stubEnv("SANDBOXER_API_KEY", "");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

it("makes the root key once, for its owner alone", () => {
  const key = openRootKey(home);
  expect(key).toMatch(/^e2b_[0-9a-f]{64}$/);
  expect(openRootKey(home)).toBe(key);
  expect(statSync(join(home, "root.key")).mode & 0o777).toBe(0o600);
});

it("takes a key from the environment, but not any", () => {
  vi.stubEnv("SANDBOXER_API_KEY", "e2b_0123456789abcdef");
  expect(openRootKey(home)).toBe("e2b_0123456789abcdef");
  for (const bad of ["short", "e2b_012345", "with a space in it, twenty", "ü".repeat(30)]) {
    vi.stubEnv("SANDBOXER_API_KEY", bad);
    expect(() => openRootKey(home)).toThrow("the root key");
  }
});

it("finds a gateway that runs, and none that is gone", () => {
  expect(findRunning(home)).toBeUndefined();
  const withdraw = announceRunning(home, "http://127.0.0.1:1");
  expect(findRunning(home)).toMatchObject({ url: "http://127.0.0.1:1", pid: process.pid });

  const file = join(home, "gateway.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const other = { ...JSON.parse(readFileSync(file, "utf8")), processStart: "1" };
  writeFileSync(file, JSON.stringify(other));
  expect(findRunning(home), "a pid that now is somebody else's").toBeUndefined();
  writeFileSync(file, "{");
  expect(findRunning(home), "half a file").toBeUndefined();
  withdraw();
  expect(findRunning(home)).toBeUndefined();
});

it("lets one gateway at a time have a home", () => {
  const unlock = lockHome(home);
  expect(() => lockHome(home)).toThrow("already runs");
  unlock();
  lockHome(home)();
});
