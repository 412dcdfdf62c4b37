import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { openKeyFile } from "./key-file.ts";
import { createSealer, isSealed } from "./sealer.ts";

const { temporaryFolder } = openers(onTestFinished);

it("opens what it sealed, for the same purpose and under the same key alone", () => {
  const sealer = createSealer(randomBytes(32));
  const sealed = sealer.seal("webhook:1", "whsec_text");
  expect(sealer.open("webhook:1", sealed)).toBe("whsec_text");
  expect([isSealed(sealed), isSealed("whsec_text")]).toEqual([true, false]);
  expect(sealed).not.toContain("text");
  expect(sealer.seal("webhook:1", "whsec_text"), "never twice the same").not.toBe(sealed);
  expect(() => sealer.open("webhook:2", sealed)).toThrow("does not open");
  expect(() => createSealer(randomBytes(32)).open("webhook:1", sealed)).toThrow("does not open");
  expect(() => sealer.open("webhook:1", `${sealed.slice(0, -6)}AAAA==`)).toThrow("does not open");
  expect(() => sealer.open("webhook:1", "")).toThrow("does not open");
});

it("makes the key once, for its owner alone, and refuses one that others can read or that is none", () => {
  const path = join(temporaryFolder(), "secrets.key");
  const key = openKeyFile(path);
  expect(openKeyFile(path)).toEqual(key);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, "utf8")).toMatch(/^[0-9a-f]{64}\n$/);
  chmodSync(path, 0o640);
  expect(() => openKeyFile(path)).toThrow("read by others");
  chmodSync(path, 0o600);
  writeFileSync(path, "short");
  expect(() => openKeyFile(path)).toThrow("32 bytes");
});
