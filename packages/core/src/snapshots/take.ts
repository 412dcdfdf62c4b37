import {
  type Box,
  type LayerKind,
  newRowId,
  type Principal,
  type Sandbox,
  type Snapshot,
  type TakeSnapshotBody,
  takeSnapshotBodySchema,
} from "@sandboxer/contract";
import { needApproval } from "../approvals/need.ts";
import { refuseGuest } from "../attachments/acting.ts";
import { demand } from "../facet.ts";
import type { House } from "../house.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { reach } from "../reach.ts";
import { writeLayout } from "./layout.ts";
import { shelfOf } from "./snapshots.ts";

/** Of a running sandbox, which stands still meanwhile and goes on afterwards, whatever becomes of us. */
export async function takeSnapshot(
  house: House,
  principal: Principal,
  idOrName: string,
  body: TakeSnapshotBody = {},
): Promise<Snapshot> {
  authorize(principal.chain, "sandbox.snapshot");
  const { name, labels } = parse(takeSnapshotBodySchema, body);
  const shelf = shelfOf(house);
  const { sandbox, box } = await reach(house, principal, "sandbox.snapshot", idOrName);
  await refuseGuest(house, principal, sandbox);
  const said = { name, labels };
  await needApproval(house, principal, "sandbox.snapshot", { sandbox, spec: sandbox.spec, said });
  const id = newRowId("snp");
  const snapshot = await shelf.add(principal, id, async (dir) => ({
    id,
    ...(name !== undefined && { name }),
    labels,
    orgId: principal.orgId,
    principalId: principal.id,
    sandboxId: sandbox.id,
    ...(sandbox.spec.from !== undefined && { parentId: sandbox.spec.from }),
    image: sandbox.spec.image,
    createdAtMs: house.clock.nowMs(),
    ...(await writeLayout(dir, layersOf(box, sandbox), sandbox.spec.image, shelf.privateKey)),
  }));
  await house.journal.record({
    type: "snapshot.created",
    orgId: principal.orgId,
    atMs: snapshot.createdAtMs,
    sandboxId: sandbox.id,
    principalId: principal.id,
    data: { snapshotId: id, name, digest: snapshot.digest, bytes: snapshot.bytes },
  });
  return snapshot;
}

async function* layersOf(
  box: Box,
  { spec }: Sandbox,
): AsyncGenerator<{ kind: LayerKind; data: AsyncIterable<Uint8Array> }> {
  const facet = demand("snapshots", box.snapshots);
  yield { kind: "root", data: await facet.capture("root") };
  if (spec.workspace?.mode === "copy-on-write") {
    yield { kind: "workspace", data: await facet.capture("workspace") };
  }
}
