import { type Sandbox, SandboxerError, type Snapshot } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { shelfOf } from "./shelf-of.ts";

/** Of a sandbox that says how many of its snapshots stay, the oldest that have no name go. */
export async function retainNewest(house: House, { id, spec }: Sandbox): Promise<void> {
  const { count } = spec.retain ?? {};
  if (count === undefined) return;
  const own = (await shelfOf(house).all()).filter(({ sandboxId, name }) => sandboxId === id && !name);
  await removeUnneeded(house, own.slice(count), "there are newer ones");
}

/** Those that are older than their sandbox allowed. */
export async function removeOutdated(house: House): Promise<void> {
  if (!house.shelf) return;
  const nowMs = house.clock.nowMs();
  const old = (await house.shelf.all()).filter(({ expiresAtMs = nowMs + 1 }) => expiresAtMs <= nowMs);
  await removeUnneeded(house, old, "it is older than its sandbox allowed");
}

/** What a living sandbox was made from is needed to make it anew. */
async function removeUnneeded(house: House, doomed: readonly Snapshot[], reason: string): Promise<void> {
  if (doomed.length === 0) return;
  const needed = new Set((await house.store.listUnfinished()).map(({ spec }) => spec.from));
  for (const { id, orgId, digest } of doomed.filter((one) => !needed.has(one.id))) {
    try {
      await shelfOf(house).remove(id);
      const data = { snapshotId: id, digest, reason };
      await house.journal.record({ type: "snapshot.deleted", orgId, atMs: house.clock.nowMs(), data });
    } catch (error) {
      house.report(`removing the snapshot ${id}`, SandboxerError.from(error));
    }
  }
}
