import { SandboxerError } from "@sandboxer/contract";
import { settleForsaken } from "../attachments/forsaken.ts";
import type { House } from "../house.ts";
import { teardown } from "./teardown.ts";

/** A hold is renewed this part of a slice before it ends: time for a budget to be raised. */
const GRACE_PART = 6;
const LOOKS_PER_SLICE = 60;

/**
 * Long lives are paid for a slice at a time, so that a week does not bind a week's money. A hold
 * that the budget no longer renews is announced, and the sandbox ends when what is paid for ends.
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
  for (const { sandboxId, coveredUntilMs, expiresAtMs } of await house.store.listUncovered(atMs + graceMs)) {
    try {
      const untilMs = Math.min(expiresAtMs, atMs + house.holdSliceMs);
      const announce = !house.unpaid.has(sandboxId);
      const covered = await house.store.coverSandbox({ sandboxId, atMs, untilMs, announce });
      if (covered?.refused) house.unpaid.add(sandboxId);
      else house.unpaid.delete(sandboxId);
      if (!covered?.refused || house.clock.nowMs() < coveredUntilMs) continue;
      await teardown(house, sandboxId, { ending: "destroyed", reason: "its budget is used up" });
      house.unpaid.delete(sandboxId);
    } catch (error) {
      house.report(`renewing the hold of ${sandboxId}`, SandboxerError.from(error));
    }
  }
}
