import {
  type CreateBody,
  type ForkBody,
  type ForkRequest,
  forkBodySchema,
  isOver,
  newSandboxId,
  type Principal,
  type Sandbox,
} from "@sandboxer/contract";
import { needApprovalOfAll } from "../approvals/need.ts";
import { refuseGuest } from "../attachments/acting.ts";
import { askToJoin } from "../attachments/joining.ts";
import { createClaimed, planOf } from "../create.ts";
import type { House } from "../house.ts";
import { claimOf, type Once } from "../idempotency.ts";
import { teardown } from "../lifecycle/teardown.ts";
import { narrow } from "../narrow.ts";
import { withoutGranted } from "../network/granted.ts";
import { parse } from "../parse.ts";
import { askOf } from "../place.ts";
import { answerPlanned } from "../planned.ts";
import { authorize } from "../policy/authorize.ts";
import { findSandbox, locate } from "../reach.ts";
import { callContext } from "../registry/registry.ts";
import type { Origin } from "../try-each.ts";
import { inTurn } from "../turns.ts";
import { pinnedImage } from "./pinned-image.ts";
import { shelfOf } from "./shelf-of.ts";
import { take } from "./take.ts";

const PATIENCE_MS = 60_000;
const PASSING_MS = 3_600_000;
const NOT_ALL = "not all that were asked for at once could be made";

/** So many at once, each from the same moment, each with a life and an identity of its own. */
export async function fork(
  house: House,
  principal: Principal,
  idOrName: string,
  body: ForkBody = {},
  once: Once = {},
): Promise<Sandbox[]> {
  authorize(principal.chain, "sandbox.create");
  authorize(principal.chain, "sandbox.snapshot");
  const asked = parse(forkBodySchema, body);
  const claim = claimOf(house, principal, "sandbox.fork", [idOrName, body], once);
  return answerPlanned(house, claim, {
    plan: async (_left?: readonly Wanted[]) => wantedOf(asked),
    work: (wanted) => forkInto(house, principal, idOrName, wanted),
    recall: (wanted) => recall(house, wanted),
  });
}

/** A fork that is to be: its id is told of before it is made. */
interface Wanted {
  readonly id: string;
  readonly name?: string;
}

function wantedOf({ names, count = names?.length ?? 1 }: ForkRequest): Wanted[] {
  return Array.from({ length: count }, (_, at) => {
    const name = names?.[at];
    return { id: newSandboxId(), ...(name !== undefined && { name }) };
  });
}

/** All of them, or none: what a crash left of some is taken back, since they are of one moment. */
async function recall(house: House, wanted: readonly Wanted[]): Promise<Sandbox[] | undefined> {
  const made = await Promise.all(wanted.map(({ id }) => house.store.getSandboxById(id)));
  const living = made.flatMap((one) =>
    one && !isOver(one.state) && one.state !== "provisioning" ? one : [],
  );
  if (living.length === wanted.length) return living;
  for (const { id } of living) await teardown(house, id, { ending: "destroyed", reason: NOT_ALL });
  return undefined;
}

async function forkInto(
  house: House,
  principal: Principal,
  idOrName: string,
  wanted: readonly Wanted[],
): Promise<Sandbox[]> {
  const source = await findSandbox(house, principal, idOrName);
  await refuseGuest(house, principal, source);
  await askToJoin(house, principal, source);
  const { id, spec, profile, budgetMicroUsd } = source;
  const forks = { verb: "fork", count: wanted.length, names: wanted.flatMap(({ name }) => name ?? []) };
  const both = ["sandbox.snapshot", "sandbox.create"] as const;
  await needApprovalOfAll(house, principal, both, { sandbox: source, spec, said: forks });
  const { schema: _, from: __, forkOf: ___, setup: ____, pool: _____, ...said } = spec;
  // Its rules as they are now go with it, and so does the most that it may cost; a yes was for it alone.
  const image = await pinnedImage(house, source);
  const budget = budgetMicroUsd === undefined ? {} : { budgetMicroUsd };
  const asked = { ...said, image, network: withoutGranted(spec.network), ...budget };
  const origin = { forkOf: id, ...(profile && { profile }) };
  const plan = await planOf(house, await narrow(house, principal, asked, profile), origin);
  // Whoever may not be where it is gets a copy elsewhere, which shares nothing with it.
  const stays = plan.candidates.some(({ extensionId }) => extensionId === source.location?.extensionId);
  const shared = stays ? await sharedLayers(house, principal, idOrName) : undefined;
  if (shared) house.pass("fork.frozen");
  if (shared) return makeAll(house, principal, wanted, asked, { ...origin, shared });
  // Killed on the way, it goes by itself.
  const snapshot = await take(house, principal, idOrName, {}, { passingMs: PASSING_MS, approved: true });
  try {
    return await makeAll(house, principal, wanted, { ...asked, from: snapshot.id }, origin);
  } finally {
    // Each has its own copy of everything by now.
    await shelfOf(house).remove(snapshot.id);
  }
}

/** Where its extension can share what it wrote: of one that is stopped, or of one that runs on a store for it. */
async function sharedLayers(house: House, principal: Principal, idOrName: string): Promise<Origin["shared"]> {
  const place = await locate(house, principal, "sandbox.snapshot", idOrName, ["running", "paused"]);
  return inTurn(house, place.sandbox.id, async () => {
    const sandbox = await house.store.getSandboxById(place.sandbox.id);
    const { stop } = place.extension;
    if (!sandbox || isOver(sandbox.state) || !stop) return undefined;
    const context = callContext(house.installationId, PATIENCE_MS);
    const layers = await askOf(house, { ...place, sandbox }, (_, ref) => stop.freeze(ref, context));
    return layers && { extensionId: place.extension.manifest.id, layers };
  });
}

/** All of them or none. */
async function makeAll(
  house: House,
  principal: Principal,
  wanted: readonly Wanted[],
  body: CreateBody,
  origin: Origin,
): Promise<Sandbox[]> {
  const make = ({ id, name }: Wanted) => {
    const asked = { ...body, ...(name !== undefined && { name }) };
    return createClaimed(house, principal, asked, undefined, { origin, id, approved: true });
  };
  const outcomes = await Promise.allSettled(wanted.map(make));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  const sandboxes = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
  if (!failed) return sandboxes;
  const wish = { ending: "destroyed", reason: NOT_ALL, principalId: principal.id } as const;
  await Promise.allSettled(sandboxes.map(({ id }) => teardown(house, id, wish)));
  throw failed.reason;
}
