import type { House } from "../house.ts";
import { teardown } from "./teardown.ts";

/** The reaper's word is checked against the row: another gateway may have given it more time. */
export async function expire(house: House, sandboxId: string): Promise<void> {
  const expiresAtMs = (await house.store.getSandboxById(sandboxId))?.expiresAtMs;
  if (expiresAtMs !== undefined && expiresAtMs > house.clock.nowMs() + EARLY_MS) {
    house.reaper.forget(sandboxId);
    house.reaper.watch(sandboxId, expiresAtMs);
    return;
  }
  await teardown(house, sandboxId, { ending: "expired", reason: "its time was up" });
}

/** A wall clock that was set back must not keep a sandbox alive; one moved on purpose moves further. */
const EARLY_MS = 1_000;
