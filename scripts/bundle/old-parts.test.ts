import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isAnybodyRunning, removeOldParts } from "./old-parts.js";

const LONG_AGO = new Date(Date.now() - 30 * 24 * 3_600_000);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandboxer-parts-"));
  mkdirSync(join(folder, "dist"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function left(isInUse: boolean): string[] {
  const dist = join(folder, "dist");
  for (const name of ["main.cjs", "a-new.cjs", "a-old.cjs", "a-ancient.cjs"])
    writeFileSync(join(dist, name), "");
  for (const name of ["main.cjs", "a-ancient.cjs"]) utimesSync(join(dist, name), LONG_AGO, LONG_AGO);
  removeOldParts(dist, new Set(["main.cjs", "a-new.cjs"]), isInUse);
  return readdirSync(dist).sort();
}

it("leaves nothing of earlier bundles where nobody runs, and only what is recent where somebody does", () => {
  expect(left(false)).toEqual(["a-new.cjs", "main.cjs"]);
  expect(left(true)).toEqual(["a-new.cjs", "a-old.cjs", "main.cjs"]);
});

it("sees who runs", async () => {
  const program = join(folder, "sandboxer.cjs");
  writeFileSync(program, 'console.log("here"); process.stdin.resume();');
  const child = spawn(process.execPath, [program, "up"], { stdio: ["pipe", "pipe", "ignore"] });
  try {
    await once(child.stdout, "data");
    expect(isAnybodyRunning()).toBe(true);
  } finally {
    child.kill();
  }
});
