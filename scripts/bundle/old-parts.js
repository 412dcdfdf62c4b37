import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Which parts each bundle had that somebody may still run from. */
const HISTORY = "history.json";
/** Of a bundle that no history tells of. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Between the start of a process and its choice of a bundle, and between two clocks. */
const SLACK_MS = 60_000;

/** @typedef {{ atMs: number, parts: readonly string[] }} Bundle */

/**
 * Removes what earlier bundles left. Whoever was started from one of them may still load a part of
 * it, so the last bundle before each start stays whole.
 * @param {string} dist
 * @param {Bundle} current
 * @param {readonly number[] | undefined} startedAtMs of everybody who runs from here; not knowing is anybody
 */
export function removeOldParts(dist, current, startedAtMs) {
  const bundles = [...readHistory(dist), current];
  const kept = bundles.filter(({ atMs }, at) => {
    const nextAtMs = bundles[at + 1]?.atMs ?? Number.POSITIVE_INFINITY;
    const isNeeded = (/** @type {number} */ ms) => ms >= atMs - SLACK_MS && ms < nextAtMs + SLACK_MS;
    return at === bundles.length - 1 || !startedAtMs || startedAtMs.some(isNeeded);
  });
  const told = new Set(bundles.flatMap(({ parts }) => parts));
  const needed = new Set([HISTORY, ...kept.flatMap(({ parts }) => parts)]);
  // Written first: what it no longer names is removed now, or by the next bundling.
  writeFileSync(join(dist, `${HISTORY}.new`), JSON.stringify(kept));
  renameSync(join(dist, `${HISTORY}.new`), join(dist, HISTORY));
  const isInUse = !startedAtMs || startedAtMs.length > 0;
  for (const name of readdirSync(dist)) {
    const file = join(dist, name);
    if (needed.has(name)) continue;
    if (!isInUse || told.has(name) || Date.now() - statSync(file).mtimeMs > KEPT_MS) rmSync(file);
  }
}

/** @param {string} dist @returns {Bundle[]} */
function readHistory(dist) {
  try {
    return JSON.parse(readFileSync(join(dist, HISTORY), "utf8"));
  } catch {
    return [];
  }
}
