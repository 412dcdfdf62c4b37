import {
  isOver,
  type Principal,
  type PruneBody,
  pruneBodySchema,
  type Snapshot,
  type Stored,
  type StoreReport,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { authorizeOrgs } from "./orgs.ts";
import { parse } from "./parse.ts";
import { ask, callContext } from "./registry/registry.ts";
import { shelfOf } from "./snapshots/shelf-of.ts";
import { volumesStored } from "./volumes/stored.ts";

const PATIENCE_MS = 60_000;

/** What takes room, and who needs it. Of all tenants, so it is the operator's to see. */
export async function listStored(house: House, principal: Principal): Promise<StoreReport> {
  await authorizeOrgs(house, principal);
  const volumes = await volumesStored(house, await house.store.listUnfinished());
  return report([...(await extensionsStore(house)), ...(await snapshotsStored(house)), ...volumes]);
}

/** Removes what nobody needs: snapshots without a name whose sandbox is over. */
export async function prune(house: House, principal: Principal, body: PruneBody = {}): Promise<StoreReport> {
  await authorizeOrgs(house, principal);
  const { dryRun } = parse(pruneBodySchema, body);
  const doomed = (await snapshotsStored(house)).filter(({ prunable }) => prunable);
  for (const { id } of dryRun ? [] : doomed) await removeOne(house, principal, id);
  return report(doomed);
}

async function removeOne(house: House, { orgId, id: principalId }: Principal, snapshotId: string) {
  await shelfOf(house).remove(snapshotId);
  const data = { snapshotId, reason: "pruned" };
  await house.journal.record({
    type: "snapshot.deleted",
    orgId,
    atMs: house.clock.nowMs(),
    principalId,
    data,
  });
}

async function extensionsStore(house: House): Promise<Stored[]> {
  const each = house.registry.all().map((extension) => {
    const { stored } = extension;
    return stored ? ask(extension, () => stored(callContext(house.installationId, PATIENCE_MS))) : [];
  });
  return (await Promise.all(each)).flat();
}

async function snapshotsStored(house: House): Promise<Stored[]> {
  if (!house.shelf) return [];
  const rows = await house.store.listUnfinished();
  return Promise.all(
    (await house.shelf.all()).map(async (snapshot) => {
      const usedBy = rows.filter(({ spec }) => spec.from === snapshot.id).map(({ id }) => id);
      const { id, bytes, name } = snapshot;
      const prunable = usedBy.length === 0 && name === undefined && (await isOrphan(house, snapshot));
      return { kind: "snapshot" as const, id, bytes, usedBy, prunable, ...(name && { note: name }) };
    }),
  );
}

/** What was imported was meant to be here. */
async function isOrphan(house: House, { sandboxId }: Snapshot): Promise<boolean> {
  if (sandboxId === undefined) return false;
  const sandbox = await house.store.getSandboxById(sandboxId);
  return !sandbox || isOver(sandbox.state);
}

function report(stored: Stored[]): StoreReport {
  return { stored, bytes: stored.reduce((sum, { bytes }) => sum + bytes, 0) };
}
