import {
  type CreateBody,
  type ForkBody,
  forkBodySchema,
  isOver,
  type Principal,
  type Sandbox,
} from "@sandboxer/contract";
import { needApproval } from "../approvals/need.ts";
import { refuseGuest } from "../attachments/acting.ts";
import { createClaimed } from "../create.ts";
import { destroy } from "../destroy.ts";
import type { House } from "../house.ts";
import { parse } from "../parse.ts";
import { askOf } from "../place.ts";
import { authorize } from "../policy/authorize.ts";
import { findSandbox, locate } from "../reach.ts";
import { callContext } from "../registry/registry.ts";
import type { Origin } from "../try-each.ts";
import { inTurn } from "../turns.ts";
import { pinnedImage } from "./pinned-image.ts";
import { shelfOf } from "./shelf-of.ts";
import { takeSnapshot } from "./take.ts";

const PATIENCE_MS = 60_000;
const PASSING_MS = 3_600_000;

/** So many at once, each from the same moment, each with a life and an identity of its own. */
export async function fork(
  house: House,
  principal: Principal,
  idOrName: string,
  body: ForkBody = {},
): Promise<Sandbox[]> {
  authorize(principal.chain, "sandbox.create");
  authorize(principal.chain, "sandbox.snapshot");
  const { count } = parse(forkBodySchema, body);
  const sandbox = await findSandbox(house, principal, idOrName);
  const { id, spec, budgetMicroUsd } = sandbox;
  const { schema: _, from: __, forkOf: ___, setup: ____, pool: _____, ...said } = spec;
  // Its rules as they are now go with it, and so does the most that it may cost.
  const image = await pinnedImage(house, sandbox);
  const asked = { ...said, image, ...(budgetMicroUsd !== undefined && { budgetMicroUsd }) };
  const origin = { forkOf: id, layers: await sharedLayers(house, principal, idOrName) };
  if (origin.layers) house.pass("fork.frozen");
  if (origin.layers) return makeAll(house, principal, count, asked, origin);
  // Killed on the way, it goes by itself.
  const snapshot = await takeSnapshot(house, principal, idOrName, {}, PASSING_MS);
  try {
    return await makeAll(house, principal, count, { ...asked, from: snapshot.id }, origin);
  } finally {
    // Each has its own copy of everything by now.
    await shelfOf(house).remove(snapshot.id);
  }
}

/** Where its extension can share what it wrote: of one that is stopped, or of one that runs on a store for it. */
async function sharedLayers(
  house: House,
  principal: Principal,
  idOrName: string,
): Promise<readonly string[] | undefined> {
  const place = await locate(house, principal, "sandbox.snapshot", idOrName, ["running", "paused"]);
  await refuseGuest(house, principal, place.sandbox);
  return inTurn(house, place.sandbox.id, async () => {
    const sandbox = await house.store.getSandboxById(place.sandbox.id);
    const { stop } = place.extension;
    if (!sandbox || isOver(sandbox.state) || !stop) return undefined;
    const said = { labels: {} };
    await needApproval(house, principal, "sandbox.snapshot", { sandbox, spec: sandbox.spec, said });
    const context = callContext(house.installationId, PATIENCE_MS);
    return askOf(house, { ...place, sandbox }, (_, ref) => stop.freeze(ref, context));
  });
}

/** All of them or none. */
async function makeAll(
  house: House,
  principal: Principal,
  count: number,
  body: CreateBody,
  origin: Origin,
): Promise<Sandbox[]> {
  const make = () => createClaimed(house, principal, body, undefined, origin);
  const outcomes = await Promise.allSettled(Array.from({ length: count }, make));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  const sandboxes = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
  if (!failed) return sandboxes;
  await Promise.allSettled(sandboxes.map(({ id }) => destroy(house, principal, id)));
  throw failed.reason;
}
