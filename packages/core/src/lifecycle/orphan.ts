import type { ListedBox } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { ask, callContext } from "../registry/registry.ts";

const PATIENCE_MS = 30_000;

/**
 * Ours, but the store has no word of it: perhaps a store was put back that is older than the box.
 * It is told of and stopped, so that it does nothing more, and ended when nobody has put that right.
 */
export async function settleOrphan(house: House, extensionId: string, box: ListedBox): Promise<void> {
  const place = `${extensionId}/${box.ref}`;
  const extension = house.registry.get(extensionId);
  const context = callContext(house.installationId, PATIENCE_MS);
  const sinceMs = house.orphans.get(place);
  if (sinceMs === undefined) {
    house.orphans.set(place, house.clock.monotonicMs());
    await tell(house, extensionId, box, "sandbox.orphaned");
    const { pause } = extension;
    if (pause && !box.stopped) await ask(extension, () => pause.pause(box.ref, context), PATIENCE_MS);
    return;
  }
  if (house.clock.monotonicMs() - sinceMs < house.orphanGraceMs) return;
  await ask(extension, () => extension.destroy(box.ref, context), PATIENCE_MS);
  house.orphans.delete(place);
  await tell(house, extensionId, box, "sandbox.destroyed");
}

/** No row, so no known org: it goes into the installation's own log. */
function tell(
  house: House,
  extensionId: string,
  { hostId, ref, sandboxId }: ListedBox,
  type: "sandbox.orphaned" | "sandbox.destroyed",
): Promise<void> {
  const data = { extensionId, hostId, ref, sandboxId };
  return house.store.appendEvents([{ type, orgId: house.installationId, atMs: house.clock.nowMs(), data }]);
}
