import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeOldParts } from "./old-parts.js";
import { startsOf } from "./running.js";

const HOUR_MS = 3_600_000;
const LONG_AGO = new Date(Date.now() - 30 * 24 * HOUR_MS);

let folder: string;
let dist: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandboxer-parts-"));
  dist = join(folder, "dist");
  mkdirSync(dist);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** One bundle after another, each an hour later, while these run; what is there after the last. */
function bundled(count: number, startedAtHour: readonly number[] | undefined): string[] {
  for (let hour = 1; hour <= count; hour += 1) {
    const parts = ["main.cjs", `a-${hour}.cjs`, `b-${Math.ceil(hour / 2)}.cjs`];
    for (const name of parts) writeFileSync(join(dist, name), "");
    const startedAtMs = startedAtHour?.filter((at) => at < hour).map((at) => at * HOUR_MS);
    removeOldParts(dist, { atMs: hour * HOUR_MS, parts }, startedAtMs);
  }
  return readdirSync(dist).sort();
}

it("leaves nothing of earlier bundles where nobody runs", () => {
  writeFileSync(join(dist, "untold.cjs"), "");
  expect(bundled(9, [])).toEqual(["a-9.cjs", "b-5.cjs", "history.json", "main.cjs"]);
});

it("leaves of a hundred bundles the one that somebody runs from, whole, and the last", () => {
  // Of the third, when it was the newest: a part that the fourth has too is kept as well.
  expect(bundled(100, [3.5])).toEqual([
    "a-100.cjs",
    "a-3.cjs",
    "b-2.cjs",
    "b-50.cjs",
    "history.json",
    "main.cjs",
  ]);
});

it("keeps both where somebody began while one took the other's place", () => {
  const left = bundled(9, [4 - 1 / HOUR_MS]);
  expect(left).toEqual(expect.arrayContaining(["a-3.cjs", "a-4.cjs", "b-2.cjs"]));
  expect(left).not.toContain("a-5.cjs");
});

it("keeps all where it cannot tell who runs, and what no history tells of for a week", () => {
  for (const name of ["old.cjs", "ancient.cjs"]) writeFileSync(join(dist, name), "");
  utimesSync(join(dist, "ancient.cjs"), LONG_AGO, LONG_AGO);
  expect(bundled(2, undefined)).toEqual([
    "a-1.cjs",
    "a-2.cjs",
    "b-1.cjs",
    "history.json",
    "main.cjs",
    "old.cjs",
  ]);
});

it("sees who runs from here, since when, and not who runs from elsewhere", async () => {
  const program = join(folder, "sandboxer.cjs");
  writeFileSync(program, 'console.log("here"); process.stdin.resume();');
  // As from a shell in that folder.
  const child = spawn(process.execPath, ["./sandboxer.cjs", "up"], {
    cwd: folder,
    stdio: ["pipe", "pipe", "ignore"],
  });
  try {
    await once(child.stdout, "data");
    const [startedAtMs = 0, ...others] = startsOf(program) ?? [];
    expect(others).toEqual([]);
    expect(Math.abs(Date.now() - startedAtMs)).toBeLessThan(60_000);
    writeFileSync(join(dist, "sandboxer.cjs"), "");
    expect(startsOf(join(dist, "sandboxer.cjs"))).not.toContain(startedAtMs);
  } finally {
    child.kill();
  }
});
