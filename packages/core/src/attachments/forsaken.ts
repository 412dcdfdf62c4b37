import { SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { teardown } from "../lifecycle/teardown.ts";
import { ask, callContext } from "../registry/registry.ts";
import type { Forsaken } from "../store/attachment-store.ts";

const PATIENCE_MS = 30_000;

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

async function settle(house: House, { sandbox, retentionMs, retained }: Forsaken): Promise<void> {
  const { id: sandboxId, location } = sandbox;
  if (retentionMs === 0) {
    await teardown(house, sandboxId, { ending: "destroyed", reason: "its last attachment left" });
    return;
  }
  if (!location) return;
  const extension = house.registry.get(location.extensionId);
  const context = callContext(house.installationId, PATIENCE_MS);
  if (retentionMs !== undefined && !retained) {
    const kept = await house.store.retain({ sandboxId, expiresAtMs: house.clock.nowMs() + retentionMs });
    if (kept?.expiresAtMs === undefined) return;
    const leftMs = Math.max(1, kept.expiresAtMs - house.clock.nowMs());
    await ask(extension, () => extension.extend(location.ref, leftMs, context));
    house.reaper.forget(sandboxId);
    house.reaper.watch(sandboxId, kept.expiresAtMs);
  }
  const { pause } = extension;
  if (!pause || sandbox.state !== "running") return;
  await ask(extension, () => pause.pause(location.ref, context));
  await house.store.pause({ sandboxId, atMs: house.clock.nowMs(), reason: "its last attachment left" });
}
