import { SandboxerError } from "@sandboxer/contract";
import { settleForsaken } from "../attachments/forsaken.ts";
import type { House } from "../house.ts";
import { placeOf } from "../place.ts";
import type { Covered, Uncovered } from "../store/budget-store.ts";
import { sleep, wake } from "./sleep.ts";
import { teardown } from "./teardown.ts";

/** A hold is renewed this part of a slice before it ends: time for a budget to be raised. */
const GRACE_PART = 6;
const LOOKS_PER_SLICE = 60;
/** How many share a commit: few enough that nobody else waits long for it. */
const AT_ONCE = 100;

/**
 * Long lives are paid for a slice at a time, so that a week does not bind a week's money. A hold
 * that the budget no longer renews is announced, the sandbox sleeps through the rest of the grace,
 * and ends when what is paid for ends.
 */
export function keepRenewed(house: House): { stop(): Promise<void> } {
  let round = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const schedule = () => {
    timer = setTimeout(() => {
      round = renew(house)
        .catch((error) => house.report("renewing holds", SandboxerError.from(error)))
        .finally(() => stopped || schedule());
    }, house.holdSliceMs / LOOKS_PER_SLICE).unref();
  };
  schedule();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      return round;
    },
  };
}

async function renew(house: House): Promise<void> {
  const atMs = house.clock.nowMs();
  const ended = await house.store.endExpiredKeys(atMs);
  house.leases.end(ended);
  if (ended.length > 0) await settleForsaken(house);
  const due = await house.store.listUncovered(atMs + house.holdSliceMs / GRACE_PART);
  for (let at = 0; at < due.length; at += AT_ONCE) await renewSome(house, due.slice(at, at + AT_ONCE));
}

/** One commit for all of them; when one cannot be, each by itself, so that it stops no other. */
async function renewSome(house: House, due: readonly Uncovered[]): Promise<void> {
  const atMs = house.clock.nowMs();
  let covered: (Covered | undefined)[];
  try {
    covered = await house.store.coverSandboxes(
      due.map(({ sandboxId, expiresAtMs }) => ({
        sandboxId,
        atMs,
        untilMs: Math.min(expiresAtMs, atMs + house.holdSliceMs),
        announce: !house.unpaid.has(sandboxId),
      })),
    );
  } catch (error) {
    const [only, ...more] = due;
    if (only && more.length === 0) complain(house, only, error);
    else for (const one of due) await renewSome(house, [one]);
    return;
  }
  for (const [at, one] of due.entries()) {
    await follow(house, one, covered[at]?.refused !== undefined).catch((error) =>
      complain(house, one, error),
    );
  }
}

function complain(house: House, { sandboxId }: Uncovered, error: unknown): void {
  house.report(`renewing the hold of ${sandboxId}`, SandboxerError.from(error));
}

/** Refused, it is announced; half the grace later it is paused; when what is paid for ends, so does it. */
async function follow(house: House, due: Uncovered, refused: boolean): Promise<void> {
  const { sandboxId, coveredUntilMs } = due;
  const known = house.unpaid.get(sandboxId);
  if (!refused) {
    house.unpaid.delete(sandboxId);
    if (known === "paused") await setPaused(house, sandboxId, false, "its budget was raised");
    return;
  }
  house.unpaid.set(sandboxId, known ?? "warned");
  const graceMs = house.holdSliceMs / GRACE_PART;
  if (house.clock.nowMs() >= coveredUntilMs) {
    await teardown(house, sandboxId, { ending: "destroyed", reason: "its budget is used up" });
    house.unpaid.delete(sandboxId);
  } else if (known === "warned" && house.clock.nowMs() >= coveredUntilMs - graceMs / 2) {
    if (await setPaused(house, sandboxId, true, "its budget is used up"))
      house.unpaid.set(sandboxId, "paused");
  }
}

/** Where its extension can. What its owner paused meanwhile is left as it is. */
async function setPaused(house: House, sandboxId: string, paused: boolean, reason: string): Promise<boolean> {
  const sandbox = await house.store.getSandboxById(sandboxId);
  const place = sandbox && placeOf(house, sandbox);
  if (!place?.extension.pause || place.sandbox.state !== (paused ? "running" : "paused")) return false;
  if (place.sandbox.pauseDepth === "disk") return false;
  await (paused ? sleep(house, place, { reason }) : wake(house, place, { reason }));
  return true;
}
