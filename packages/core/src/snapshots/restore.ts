import {
  type Box,
  type CreateBody,
  type Principal,
  type Sandbox,
  SandboxerError,
  type SandboxSpec,
} from "@sandboxer/contract";
import { demand } from "../facet.ts";
import type { House } from "../house.ts";
import { digestOf } from "./digest.ts";
import { shelfOf } from "./shelf-of.ts";
import { readLayer, tampered, verifyLayout } from "./verify.ts";
import { whileThere } from "./while-there.ts";

/** Nothing but its end. */
const EMPTY_ARCHIVE = digestOf(Buffer.alloc(1024));

/** A request that starts from a snapshot, with the image that one lies on. */
export async function withSnapshot<Body extends Pick<CreateBody, "from" | "image">>(
  house: House,
  principal: Principal,
  body: Body,
): Promise<Body> {
  if (body.from === undefined) return body;
  const { id, image } = await shelfOf(house).find(principal, body.from);
  if (body.image && JSON.stringify(body.image) !== JSON.stringify(image)) {
    throw new SandboxerError("invalid_request", "image: a snapshot restores over its own image only");
  }
  return { ...body, from: id, image };
}

/**
 * Before anything is held: what was changed in a folder has to go over one again, or a sandbox would
 * come back without the work that it was kept for.
 */
export async function needWorkspace(house: House, { from, workspace }: SandboxSpec): Promise<void> {
  if (from === undefined || workspace?.mode === "copy-on-write") return;
  const shelf = shelfOf(house);
  const { layers } = await whileThere(shelf, from, () => verifyLayout(shelf.pathOf(from), () => true));
  if (!layers.some(({ kind, digest }) => kind === "workspace" && digest !== EMPTY_ARCHIVE)) return;
  throw new SandboxerError(
    "invalid_request",
    "workspace: the snapshot holds changes to a folder that was worked on, and here is none to lay them over",
    { hint: "Give it the folder copy-on-write, as in `-w DIR`; an empty one shows what there is." },
  );
}

/** What it says in words goes with what is made of it, unless that has words of its own. */
export async function inheritRunbook(house: House, spec: SandboxSpec): Promise<void> {
  if (spec.from === undefined || spec.runbook !== undefined) return;
  const taken = (await shelfOf(house).all()).find(({ id }) => id === spec.from);
  if (taken?.runbook !== undefined) spec.runbook = taken.runbook;
}

/** Before anybody may use it: what it is made from is all there, and right, or there is no sandbox. */
export async function restoreInto(house: House, { spec }: Sandbox, box: Box): Promise<void> {
  const { from } = spec;
  if (from === undefined) return;
  await whileThere(shelfOf(house), from, () => restoreFrom(house, { ...spec, from }, box));
}

async function restoreFrom(
  house: House,
  { from, workspace }: SandboxSpec & { readonly from: string },
  box: Box,
): Promise<void> {
  const facet = demand("snapshots", box.snapshots);
  const shelf = shelfOf(house);
  const dir = shelf.pathOf(from);
  const taken = (await shelf.all()).find(({ id }) => id === from);
  // Whoever took it in has judged its key; here it has to be that very one.
  const { digest, signer, layers } = await verifyLayout(dir, () => true);
  if (digest !== taken?.digest || signer !== taken.signer) throw tampered("its manifest is another's");
  house.pass("restore.begun");
  for (const layer of layers) {
    // Only one in which nothing was changed: see `needWorkspace`.
    if (layer.kind === "workspace" && workspace?.mode !== "copy-on-write") continue;
    await facet.restore(layer.kind, readLayer(dir, layer));
  }
  await facet.restored?.();
  house.pass("restore.done");
}
