import type { House } from "../house.ts";
import { teardown } from "./teardown.ts";

/**
 * Another gateway may have given it more time: then its row has another end than the one that was
 * watched for. The two are compared with each other and not with the clock, which may have been set.
 */
export async function expire(house: House, sandboxId: string, asWritten: number): Promise<void> {
  const expiresAtMs = (await house.store.getSandboxById(sandboxId))?.expiresAtMs ?? asWritten;
  if (expiresAtMs > asWritten) {
    house.reaper.forget(sandboxId);
    house.reaper.watch(sandboxId, house.clock.nowMs() + expiresAtMs - asWritten, expiresAtMs);
    return;
  }
  await teardown(house, sandboxId, { ending: "expired", reason: "its time was up" });
}
