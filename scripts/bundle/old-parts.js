import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/** A gateway that runs longer than this is seldom older than the bundle it was started from. */
const KEPT_MS = 7 * 24 * 3_600_000;

/**
 * Removes what earlier bundles left. Whoever was started from one of them may still load a part of
 * it: while anybody runs, only what is old goes.
 * @param {string} dist
 * @param {ReadonlySet<string>} current
 * @param {boolean} isInUse
 */
export function removeOldParts(dist, current, isInUse) {
  for (const name of readdirSync(dist)) {
    const file = join(dist, name);
    if (current.has(name)) continue;
    if (!isInUse || Date.now() - statSync(file).mtimeMs > KEPT_MS) rmSync(file);
  }
}

/** Whether anything runs from a checkout of this, as far as this user can see. Not knowing is a yes. */
export function isAnybodyRunning() {
  try {
    const processes = readdirSync("/proc").filter(
      (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
    );
    return processes.some((pid) => commandLineOf(pid).includes("/sandboxer.cjs\0"));
  } catch {
    return true;
  }
}

/** @param {string} pid */
function commandLineOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}
