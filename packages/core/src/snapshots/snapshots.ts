import { createPublicKey } from "node:crypto";
import {
  type ImportOptions,
  importOptionsSchema,
  labelsSchema,
  newRowId,
  type Principal,
  type Snapshot,
  type SnapshotFilter,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { claimOf, type Once } from "../idempotency.ts";
import { parse } from "../parse.ts";
import { answerPlanned } from "../planned.ts";
import { authorize } from "../policy/authorize.ts";
import { packLayout, unpackLayout } from "./archive.ts";
import { fingerprintOf } from "./digest.ts";
import { roomFor } from "./room.ts";
import type { Draft } from "./shelf.ts";
import { shelfOf } from "./shelf-of.ts";
import { readLayer, type Verified, verifyLayout } from "./verify.ts";

export async function listSnapshots(
  house: House,
  principal: Principal,
  { labels = {} }: SnapshotFilter = {},
): Promise<Snapshot[]> {
  authorize(principal.chain, "sandbox.read");
  const wanted = Object.entries(parse(labelsSchema, labels));
  const all = await shelfOf(house).list(principal);
  return all.filter((one) => wanted.every(([key, value]) => one.labels[key] === value));
}

export async function deleteSnapshot(
  house: House,
  principal: Principal,
  idOrName: string,
): Promise<Snapshot> {
  authorize(principal.chain, "sandbox.snapshot");
  const shelf = shelfOf(house);
  const snapshot = await shelf.find(principal, idOrName);
  await shelf.remove(snapshot.id);
  const { orgId, id: principalId } = principal;
  const data = { snapshotId: snapshot.id, digest: snapshot.digest };
  await house.journal.record({
    type: "snapshot.deleted",
    orgId,
    atMs: house.clock.nowMs(),
    principalId,
    data,
  });
  return snapshot;
}

export async function exportSnapshot(
  house: House,
  principal: Principal,
  idOrName: string,
): Promise<AsyncIterable<Uint8Array>> {
  authorize(principal.chain, "sandbox.snapshot");
  const shelf = shelfOf(house);
  return packLayout(shelf.pathOf((await shelf.find(principal, idOrName)).id));
}

/**
 * Nothing of it is kept unless every byte is what a trusted key has signed. What was asked under an
 * idempotency key is known only once the archive has been read, so each repetition is read to its end.
 */
export async function importSnapshot(
  house: House,
  principal: Principal,
  source: AsyncIterable<Uint8Array>,
  options: ImportOptions = {},
  once: Once = {},
): Promise<Snapshot> {
  authorize(principal.chain, "sandbox.snapshot");
  const { name, trust } = parse(importOptionsSchema, options);
  const shelf = shelfOf(house);
  const own = fingerprintOf(createPublicKey(shelf.privateKey));
  const aside = newRowId("snp");
  const draft = await shelf.draft(aside, async (dir) => {
    await unpackLayout(dir, source, roomFor(shelf.mostBytes));
    const { layers, ...said } = await verifyLayout(dir, (key) => key === own || key === trust);
    for (const layer of layers) for await (const _ of readLayer(dir, layer));
    house.pass("snapshot.drafted");
    return { ...said, bytes: layers.reduce((sum, { size }) => sum + size, 0) };
  });
  try {
    const claim = claimOf(house, principal, "snapshot.import", [draft.facts.digest, options], once);
    return await answerPlanned(house, claim, {
      plan: async (_left?: { readonly id: string }) => ({ id: aside }),
      work: ({ id }) => keepImported(house, principal, draft, { id, name }),
      recall: async ({ id }) => (await shelf.all()).find((one) => one.id === id),
    });
  } finally {
    await draft.drop();
  }
}

async function keepImported(
  house: House,
  principal: Principal,
  draft: Draft<Omit<Verified, "layers"> & { readonly bytes: number }>,
  { id, name }: { readonly id: string; readonly name: string | undefined },
): Promise<Snapshot> {
  const { orgId, id: principalId } = principal;
  const snapshot = await shelfOf(house).place(principal, draft, {
    id,
    ...(name && { name }),
    orgId,
    principalId,
    createdAtMs: house.clock.nowMs(),
    ...draft.facts,
  });
  house.pass("snapshot.placed");
  await house.journal.record({
    type: "snapshot.imported",
    orgId,
    atMs: snapshot.createdAtMs,
    principalId,
    data: { snapshotId: id, name, digest: snapshot.digest, signer: snapshot.signer },
  });
  return snapshot;
}
