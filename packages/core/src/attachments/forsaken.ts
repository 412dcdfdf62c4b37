import { SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { sleep } from "../lifecycle/sleep.ts";
import { teardown } from "../lifecycle/teardown.ts";
import { askOf, type Place, placeOf } from "../place.ts";
import type { Forsaken } from "../store/attachment-store.ts";
import { inTurn } from "../turns.ts";

const LEFT = "its last attachment left";

/**
 * The last one left. What was made for attachments ends, at once or after its retention; all of
 * them sleep until somebody comes, where their extension can. Also for what a crash left awake.
 */
export async function settleForsaken(house: House): Promise<void> {
  for (const forsaken of await house.store.listForsaken()) {
    try {
      await settle(house, forsaken);
    } catch (error) {
      house.report(`putting ${forsaken.sandbox.id} to sleep`, SandboxerError.from(error));
    }
  }
}

async function settle(house: House, { sandbox, hibernates, retentionMs }: Forsaken): Promise<void> {
  const { id: sandboxId } = sandbox;
  const place = placeOf(house, sandbox);
  if (retentionMs === 0) {
    await teardown(house, sandboxId, { ending: "destroyed", reason: LEFT });
    return;
  }
  if (!place) return;
  if (retentionMs !== undefined) await retain(house, place, retentionMs);
  if (hibernates && place.extension.pause) {
    await sleep(house, place, { reason: LEFT, still: () => house.store.isForsaken(sandboxId) });
  }
  await house.store.settleForsaken(sandboxId);
}

async function retain(house: House, place: Place, retentionMs: number): Promise<void> {
  const { id: sandboxId } = place.sandbox;
  const kept = await house.store.retain({ sandboxId, expiresAtMs: house.clock.nowMs() + retentionMs });
  if (kept?.expiresAtMs === undefined) return;
  const leftMs = Math.max(1, kept.expiresAtMs - house.clock.nowMs());
  await inTurn(house, sandboxId, () =>
    askOf(house, place, (extension, ref, context) => extension.extend(ref, leftMs, context)),
  );
  house.reaper.forget(sandboxId);
  house.reaper.watch(sandboxId, kept.expiresAtMs);
}
