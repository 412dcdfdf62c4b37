import {
  type Box,
  type LayerKind,
  newRowId,
  type Principal,
  type Sandbox,
  SandboxerError,
  type Snapshot,
  type TakeSnapshotBody,
  takeSnapshotBodySchema,
} from "@sandboxer/contract";
import { needApproval } from "../approvals/need.ts";
import { refuseGuest } from "../attachments/acting.ts";
import { askToJoin } from "../attachments/joining.ts";
import { demand } from "../facet.ts";
import type { House } from "../house.ts";
import { claimOf, type Once } from "../idempotency.ts";
import { current } from "../lifecycle/current.ts";
import { parse } from "../parse.ts";
import { askOf, type Place } from "../place.ts";
import { answerPlanned } from "../planned.ts";
import { authorize } from "../policy/authorize.ts";
import { locate, reach } from "../reach.ts";
import { callContext } from "../registry/registry.ts";
import { specOf } from "../try-each.ts";
import { inTurn } from "../turns.ts";
import { writeLayout } from "./layout.ts";
import { pinnedImage } from "./pinned-image.ts";
import { retainNewest } from "./retention.ts";
import { type Room, roomFor } from "./room.ts";
import { shelfOf } from "./shelf-of.ts";

const PATIENCE_MS = 120_000;

export async function takeSnapshot(
  house: House,
  principal: Principal,
  idOrName: string,
  body: TakeSnapshotBody = {},
  once: Once = {},
): Promise<Snapshot> {
  authorize(principal.chain, "sandbox.snapshot");
  const claim = claimOf(house, principal, "sandbox.snapshot", [idOrName, body], once);
  return answerPlanned(house, claim, {
    plan: async (_left?: { readonly id: string }) => ({ id: newRowId("snp") }),
    work: ({ id }) => take(house, principal, idOrName, body, { id }),
    recall: async ({ id }) => (await shelfOf(house).all()).find((one) => one.id === id),
  });
}

/** Of a running sandbox, which stands still meanwhile and goes on afterwards, or of one that is stopped. */
export async function take(
  house: House,
  principal: Principal,
  idOrName: string,
  body: TakeSnapshotBody,
  {
    id,
    passingMs,
    approved,
  }: { readonly id?: string; readonly passingMs?: number; readonly approved?: true },
): Promise<Snapshot> {
  authorize(principal.chain, "sandbox.snapshot");
  const { name, labels } = parse(takeSnapshotBodySchema, body);
  shelfOf(house);
  const place = await locate(house, principal, "sandbox.snapshot", idOrName, ["running", "paused"]);
  await refuseGuest(house, principal, place.sandbox);
  await askToJoin(house, principal, place.sandbox);
  const { sandbox: source } = place;
  const said = { name, labels };
  if (!approved)
    await needApproval(house, principal, "sandbox.snapshot", { sandbox: source, spec: source.spec, said });
  const of = { id, name, labels, passingMs };
  if (place.sandbox.pauseDepth === "disk") {
    return reading(house, place, (box, sandbox) => keep(house, principal, sandbox, box, of));
  }
  const { sandbox, box } = await reach(house, principal, "sandbox.snapshot", idOrName);
  return keep(house, principal, sandbox, box, of);
}

/** Nothing in it runs, and nobody can start it meanwhile. */
function reading<T>(
  house: House,
  place: Place,
  work: (box: Box, sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  const { id: sandboxId, orgId } = place.sandbox;
  return inTurn(house, sandboxId, async () => {
    const sandbox = await current(house, sandboxId);
    const facet = demand("stop", place.extension.stop);
    if (sandbox.pauseDepth !== "disk") {
      throw new SandboxerError("invalid_state", "it was started meanwhile; ask again");
    }
    const context = { ...callContext(house.installationId, PATIENCE_MS), sandboxId, orgId };
    const box = await askOf(house, { ...place, sandbox }, async () =>
      facet.read(await specOf(house, sandbox), context),
    );
    try {
      return await work(box, sandbox);
    } finally {
      box.close();
    }
  });
}

type Owner = Pick<Principal, "id" | "orgId" | "lineage">;

interface Kept {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly labels: Snapshot["labels"];
  /** Without a name it goes after so long. */
  readonly passingMs?: number | undefined;
}

/** What the box holds now, on the shelf. */
export async function keep(
  house: House,
  owner: Owner,
  sandbox: Sandbox,
  box: Box,
  { id = newRowId("snp"), name, labels, passingMs = sandbox.spec.retain?.ageMs }: Kept,
): Promise<Snapshot> {
  const shelf = shelfOf(house);
  const { from, runbook } = sandbox.spec;
  const image = await pinnedImage(house, sandbox);
  const createdAtMs = house.clock.nowMs();
  const snapshot = await shelf.add(owner, id, async (dir) => {
    const layers = layersOf(box, sandbox, roomFor(shelf.mostBytes));
    const said = { image, labels, ...(runbook !== undefined && { runbook }) };
    const written = await writeLayout(dir, layers, said, shelf.privateKey);
    house.pass("snapshot.drafted");
    return {
      id,
      ...(name !== undefined && { name }),
      ...said,
      orgId: owner.orgId,
      principalId: owner.id,
      sandboxId: sandbox.id,
      ...(from !== undefined && { parentId: from }),
      createdAtMs,
      ...(name === undefined && passingMs !== undefined && { expiresAtMs: createdAtMs + passingMs }),
      ...written,
    };
  });
  house.pass("snapshot.placed");
  await house.journal.record({
    type: "snapshot.created",
    orgId: owner.orgId,
    atMs: snapshot.createdAtMs,
    sandboxId: sandbox.id,
    principalId: owner.id,
    data: { snapshotId: id, name, digest: snapshot.digest, bytes: snapshot.bytes },
  });
  await retainNewest(house, sandbox);
  return snapshot;
}

async function* layersOf(
  box: Box,
  { spec }: Sandbox,
  room: Room,
): AsyncGenerator<{ kind: LayerKind; data: AsyncIterable<Uint8Array> }> {
  const facet = demand("snapshots", box.snapshots);
  for (let below = facet.below; below >= 0; below--) {
    const data = await facet.capture("root", { below, mostBytes: room.leftBytes });
    yield { kind: "root", data: room.through(data) };
  }
  if (spec.workspace?.mode === "copy-on-write") {
    const data = await facet.capture("workspace", { mostBytes: room.leftBytes });
    yield { kind: "workspace", data: room.through(data) };
  }
}
