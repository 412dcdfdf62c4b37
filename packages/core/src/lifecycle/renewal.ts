import { SandboxerError } from "@sandboxer/contract";
import { settleForsaken } from "../attachments/forsaken.ts";
import type { House } from "../house.ts";
import { placeOf } from "../place.ts";
import type { Uncovered } from "../store/budget-store.ts";
import { sleep, wake } from "./sleep.ts";
import { teardown } from "./teardown.ts";

/** A hold is renewed this part of a slice before it ends: time for a budget to be raised. */
const GRACE_PART = 6;
const LOOKS_PER_SLICE = 60;

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
  const graceMs = house.holdSliceMs / GRACE_PART;
  for (const due of await house.store.listUncovered(atMs + graceMs)) {
    try {
      await renewOne(house, due, graceMs);
    } catch (error) {
      house.report(`renewing the hold of ${due.sandboxId}`, SandboxerError.from(error));
    }
  }
}

/** Refused, it is announced; half the grace later it is paused; when what is paid for ends, so does it. */
async function renewOne(house: House, due: Uncovered, graceMs: number): Promise<void> {
  const { sandboxId, coveredUntilMs, expiresAtMs } = due;
  const atMs = house.clock.nowMs();
  const untilMs = Math.min(expiresAtMs, atMs + house.holdSliceMs);
  const known = house.unpaid.get(sandboxId);
  const covered = await house.store.coverSandbox({ sandboxId, atMs, untilMs, announce: known === undefined });
  if (!covered?.refused) {
    house.unpaid.delete(sandboxId);
    if (known === "paused") await setPaused(house, sandboxId, false, "its budget was raised");
    return;
  }
  house.unpaid.set(sandboxId, known ?? "warned");
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
