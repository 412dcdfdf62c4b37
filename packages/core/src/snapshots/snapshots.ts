import { createPublicKey } from "node:crypto";
import {
  type ImportOptions,
  importOptionsSchema,
  newRowId,
  type Principal,
  type Snapshot,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { packLayout, unpackLayout } from "./archive.ts";
import { fingerprintOf } from "./digest.ts";
import { shelfOf } from "./shelf-of.ts";
import { readLayer, verifyLayout } from "./verify.ts";

export async function listSnapshots(house: House, principal: Principal): Promise<Snapshot[]> {
  authorize(principal.chain, "sandbox.read");
  return shelfOf(house).list(principal);
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

/** Nothing of it is kept unless every byte is what a trusted key has signed. */
export async function importSnapshot(
  house: House,
  principal: Principal,
  source: AsyncIterable<Uint8Array>,
  options: ImportOptions = {},
): Promise<Snapshot> {
  authorize(principal.chain, "sandbox.snapshot");
  const { name, trust } = parse(importOptionsSchema, options);
  const shelf = shelfOf(house);
  const own = fingerprintOf(createPublicKey(shelf.privateKey));
  const id = newRowId("snp");
  const snapshot = await shelf.add(principal, id, async (dir) => {
    await unpackLayout(dir, source);
    const { digest, signer, image, layers } = await verifyLayout(dir, (key) => key === own || key === trust);
    for (const layer of layers) for await (const _ of readLayer(dir, layer));
    const bytes = layers.reduce((sum, { size }) => sum + size, 0);
    const { orgId, id: principalId } = principal;
    const createdAtMs = house.clock.nowMs();
    return {
      id,
      ...(name && { name }),
      labels: {},
      orgId,
      principalId,
      image,
      createdAtMs,
      bytes,
      digest,
      signer,
    };
  });
  await house.journal.record({
    type: "snapshot.imported",
    orgId: principal.orgId,
    atMs: snapshot.createdAtMs,
    principalId: principal.id,
    data: { snapshotId: id, name, digest: snapshot.digest, signer: snapshot.signer },
  });
  return snapshot;
}
