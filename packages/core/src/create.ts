import {
  type CreateBody,
  costOver,
  newRowId,
  newSandboxId,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { answerOnce, claimOf, type Once } from "./idempotency.ts";
import { protect } from "./network/protect.ts";
import { authorize, authorizeCreate, authorizeProfile } from "./policy/authorize.ts";
import { withProfile } from "./profiles/profiles.ts";
import { type RoutePlan, route } from "./route/route.ts";
import type { Claim } from "./store/idempotency-store.ts";
import { discard, fail, type Taken, tryEach } from "./try-each.ts";

export async function create(
  house: House,
  principal: Principal,
  body: CreateBody,
  once: Once = {},
): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.create");
  const claim = claimOf(house, principal, "sandbox.create", body, once);
  return answerOnce(house, claim, () => createNow(house, principal, body, claim));
}

/** The five steps of the waist. Killed at any line, the next start puts right what it left. */
async function createNow(
  house: House,
  principal: Principal,
  body: CreateBody,
  claim: Claim | undefined,
): Promise<Sandbox> {
  // 1 narrow
  const narrowed = await narrow(house, principal, body);
  // 2 plan
  const plan = route(narrowed.spec, await house.registry.offers(), narrowed.routing);
  if (plan.candidates.length === 0) throw noCandidate(plan);

  house.pass("create.planned");
  const id = newSandboxId();
  house.creating.add(id);
  try {
    // 3 hold
    const sandbox = await hold(house, principal, { id, ...narrowed, plan, claim });
    house.pass("create.held");
    // 4 try
    const taken = await tryEach(house, sandbox, plan.candidates);
    house.pass("create.made");
    // 5 settle
    return await settle(house, sandbox, taken, claim !== undefined);
  } finally {
    house.creating.delete(id);
  }
}

/** What was asked, within its profile and within every link of the caller's chain. */
export async function narrow(house: House, principal: Principal, asked: CreateBody) {
  const { body, profile } = await withProfile(house, principal, asked);
  authorizeProfile(principal.chain, profile);
  return { ...authorizeCreate(principal.chain, body), profile };
}

type Wanted = Awaited<ReturnType<typeof narrow>> & {
  readonly id: string;
  readonly plan: RoutePlan;
  readonly claim: Claim | undefined;
};

/** Write-ahead: before anything exists anywhere, there is a row, a hold and an event. */
async function hold(house: House, principal: Principal, wanted: Wanted): Promise<Sandbox> {
  const { id, name, consumer, visibility, budgetMicroUsd, profile, spec, plan, claim } = wanted;
  const createdAtMs = house.clock.nowMs();
  const { id: principalId, orgId, keyId, lineage, team } = principal;
  const sandbox: Sandbox = {
    id,
    ...(name !== undefined && { name }),
    orgId,
    principalId,
    consumer: consumer ?? { kind: "person" },
    visibility: visibility ?? "private",
    ...(team !== undefined && { team }),
    ...(profile && { profile }),
    state: "provisioning",
    spec,
    bestEffort: [],
    createdAtMs,
    costMicroUsd: 0,
    ...(budgetMicroUsd !== undefined && { budgetMicroUsd }),
  };
  // Enough for the dearest, since failover may end there.
  const dearest = Math.max(...plan.candidates.map(({ microUsdPerHour }) => microUsdPerHour));
  await house.store.beginCreate({
    sandbox,
    claim,
    keyId,
    lineage,
    attachment: { id: newRowId("att"), sandboxId: id, orgId, principalId, createdAtMs },
    holdMicroUsd: costOver(dearest, Math.min(spec.ttlMs, house.holdSliceMs)),
    creator: house.instance,
    // What was asked, but not its variables: they may hold secrets, and the log is forever.
    data: {
      keyId,
      policy: plan.policy,
      name,
      consumer: sandbox.consumer,
      profile,
      image: spec.image,
      isolation: spec.isolation,
      ttlMs: spec.ttlMs,
      candidates: plan.candidates.map(({ extensionId }) => extensionId),
      rejected: plan.rejected,
    },
  });
  return sandbox;
}

async function settle(house: House, sandbox: Sandbox, taken: Taken, claimed: boolean): Promise<Sandbox> {
  const { box, candidate, triedAtMs, attempts } = taken;
  const { extensionId, microUsdPerHour } = candidate;
  // From before the try, so that our clock ends it before the backend's own switch does.
  const expiresAtMs = triedAtMs + sandbox.spec.ttlMs;
  const location = { extensionId, hostId: box.hostId, ref: box.ref };
  try {
    await protect(house, sandbox, location, async () => box);
    const running = await house.store.settleCreate({
      sandboxId: sandbox.id,
      claimed,
      location,
      bestEffort: box.bestEffort,
      startedAtMs: house.clock.nowMs(),
      expiresAtMs,
      coveredUntilMs: Math.min(expiresAtMs, triedAtMs + house.holdSliceMs),
      microUsdPerHour,
      data: { attempts },
    });
    if (!running) throw new SandboxerError("sandbox_gone", "it was ended while it was being created");
    house.pass("create.settled");
    house.boxes.keep(sandbox.id, box);
    house.reaper.watch(sandbox.id, expiresAtMs);
    return running;
  } catch (thrown) {
    house.guard?.forget(sandbox.id);
    box.close();
    await discard(house, extensionId, box.ref);
    throw await fail(house, sandbox, SandboxerError.from(thrown), attempts);
  }
}

function noCandidate({ rejected }: RoutePlan): SandboxerError {
  const reasons = rejected.map(({ extensionId, reason }) => `${extensionId}: ${reason}`).join("; ");
  return new SandboxerError("no_candidate", `no extension can take it. ${reasons || "None is configured"}`, {
    details: { rejected },
  });
}
