import type { Sandbox } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { placeOf } from "../place.ts";
import { ask, callContext } from "../registry/registry.ts";
import { putDown, stopsAtEnd } from "./rest.ts";
import { teardown } from "./teardown.ts";

/** What the wall clock and a backend's own may differ by when they mean the same moment. */
const EARLY_MS = 1_000;
const PATIENCE_MS = 30_000;

/**
 * The reaper's word is checked against the row: another gateway may have given it more time. But a
 * row that still has time may also mean that the wall clock was set back, and that must not keep a
 * sandbox alive. The backend knows which: it counts without the wall, and every extension reaches it.
 */
export async function expire(house: House, sandboxId: string): Promise<void> {
  const row = await house.store.getSandboxById(sandboxId);
  if (row && isAhead(house, row.expiresAtMs)) {
    const expiresAtMs = await askBackend(house, row);
    if (isAhead(house, expiresAtMs)) {
      house.reaper.forget(sandboxId);
      house.reaper.watch(sandboxId, expiresAtMs);
      return;
    }
  }
  const place = row && placeOf(house, row);
  if (place && stopsAtEnd(row)) {
    // Its timer is this very one: it is to be watched anew.
    house.reaper.forget(sandboxId);
    await putDown(house, place, { reason: "its time was up" });
    return;
  }
  await teardown(house, sandboxId, { ending: "expired", reason: "its time was up" });
}

function isAhead(house: House, expiresAtMs: number | undefined): expiresAtMs is number {
  return expiresAtMs !== undefined && expiresAtMs > house.clock.nowMs() + EARLY_MS;
}

async function askBackend(house: House, row: Sandbox): Promise<number | undefined> {
  if (!row.location) return row.expiresAtMs;
  const boxes = await ask(
    house.registry.get(row.location.extensionId),
    (extension) => extension.list(callContext(house.installationId, PATIENCE_MS)),
    PATIENCE_MS,
  );
  const box = boxes.find(({ sandboxId }) => sandboxId === row.id);
  return box && (box.expiresAtMs ?? row.expiresAtMs);
}
