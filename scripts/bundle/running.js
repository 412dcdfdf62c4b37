import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { resolve } from "node:path";

const TICK_MS = 10;

/**
 * When each process was started that runs this program, as far as this user can see; `undefined` where
 * that cannot be told.
 * @param {string} program
 * @returns {number[] | undefined}
 */
export function startsOf(program) {
  try {
    const ownTicks = startTicksOf("self");
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && runs(name, program))
      .map((pid) => performance.timeOrigin - (ownTicks - startTicksOf(pid)) * TICK_MS);
  } catch {
    return undefined;
  }
}

/** @param {string} pid @param {string} program */
function runs(pid, program) {
  let words;
  try {
    words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    // It has ended meanwhile.
    return false;
  }
  const named = words.find((word) => word.endsWith("sandboxer.cjs"));
  if (named === undefined) return false;
  try {
    return realpathSync(resolve(readlinkSync(`/proc/${pid}/cwd`), named)) === realpathSync(program);
  } catch {
    // Somebody else's: it may be.
    return true;
  }
}

/** Of the time since the machine's start: two of them are compared, whatever the clock says. @param {string} pid */
function startTicksOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
}
