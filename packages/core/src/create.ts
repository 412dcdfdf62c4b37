import {
  type CreateBody,
  newSandboxId,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import { needApproval } from "./approvals/need.ts";
import { hold } from "./hold.ts";
import type { House } from "./house.ts";
import { answerOnce, claimOf, type Once } from "./idempotency.ts";
import { type Narrowed, narrow } from "./narrow.ts";
import { authorize } from "./policy/authorize.ts";
import { reuseOr } from "./reuse.ts";
import { type RoutePlan, route, whyUnfit } from "./route/route.ts";
import { settle } from "./settle.ts";
import { setUp } from "./setup.ts";
import { inheritRunbook, needWorkspace, withSnapshot } from "./snapshots/restore.ts";
import type { Claim } from "./store/idempotency-store.ts";
import { type Origin, tryEach } from "./try-each.ts";

export async function create(
  house: House,
  principal: Principal,
  body: CreateBody,
  once: Once = {},
): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.create");
  const claim = claimOf(house, principal, "sandbox.create", body, once);
  return answerOnce(house, claim, () => createClaimed(house, principal, body, claim));
}

/** What a verb that creates as part of more has settled already. */
export interface Settled {
  readonly origin?: Origin;
  /** The id that it told of before. */
  readonly id?: string;
  /** Somebody was asked about the whole. */
  readonly approved?: true;
}

/** For what creates as part of more: under the claim of the whole. */
export async function createClaimed(
  house: House,
  principal: Principal,
  body: CreateBody,
  claim: Claim | undefined,
  settled: Settled = {},
): Promise<Sandbox> {
  const { origin } = settled;
  // 1 narrow
  const asked = await withSnapshot(house, principal, body);
  const narrowed = await narrow(house, principal, asked, origin?.profile);
  await needWorkspace(house, narrowed.spec);
  await inheritRunbook(house, narrowed.spec);
  if (origin) narrowed.spec.forkOf = origin.forkOf;
  return reuseOr(house, principal, narrowed, claim, (label) =>
    make(house, principal, { ...narrowed, label }, claim, settled),
  );
}

/** The five steps of the waist. Killed at any line, the next start puts right what it left. */
async function make(
  house: House,
  principal: Principal,
  narrowed: Narrowed & { readonly label: string | undefined },
  claim: Claim | undefined,
  { origin, id = newSandboxId(), approved }: Settled,
): Promise<Sandbox> {
  const { profile, name, spec } = narrowed;
  const { image, network, workspace, secrets, ttlMs } = spec;
  const said = { profile, name, image, network, workspace, secrets, ttlMs };
  if (!approved) await needApproval(house, principal, "sandbox.create", { spec, said, exact: [said, spec] });
  // 2 plan
  const plan = await planOf(house, narrowed, origin);
  if (plan.candidates.length === 0) throw noCandidate(plan);

  house.pass("create.planned");
  house.creating.add(id);
  try {
    // 3 hold
    const { sandbox, attachmentId } = await hold(house, principal, { id, ...narrowed, plan, claim });
    house.pass("create.held");
    // 4 try
    const taken = await tryEach(house, sandbox, plan.candidates, origin?.shared?.layers);
    house.pass("create.made");
    await setUp(house, sandbox, taken, attachmentId);
    house.pass("create.prepared");
    // 5 settle
    return await settle(house, sandbox, taken, claim !== undefined);
  } finally {
    house.creating.delete(id);
  }
}

/** Where it can be; of what shares with another, only where that one is. */
export async function planOf(
  house: House,
  { spec, routing, trust }: Narrowed,
  origin: Origin | undefined,
): Promise<RoutePlan> {
  const offers = await house.registry.offers((manifest) => !!whyUnfit(spec, manifest, routing));
  const plan = route(spec, offers, routing, trust);
  const { shared } = origin ?? {};
  if (!shared) return plan;
  return { ...plan, candidates: plan.candidates.filter((one) => one.extensionId === shared.extensionId) };
}

function noCandidate({ rejected }: RoutePlan): SandboxerError {
  const reasons = rejected.map(({ extensionId, reason }) => `${extensionId}: ${reason}`).join("; ");
  return new SandboxerError("no_candidate", `no extension can take it. ${reasons || "None is configured"}`, {
    details: { rejected },
  });
}
