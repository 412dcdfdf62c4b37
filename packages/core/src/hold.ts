import { costOver, type Principal, type Sandbox } from "@sandboxer/contract";
import { implicitAttachment } from "./attachments/implicit.ts";
import type { House } from "./house.ts";
import type { Narrowed } from "./narrow.ts";
import type { RoutePlan } from "./route/route.ts";
import type { Claim } from "./store/idempotency-store.ts";

type Wanted = Narrowed & {
  readonly id: string;
  readonly label: string | undefined;
  readonly plan: RoutePlan;
  readonly claim: Claim | undefined;
};

interface Held {
  readonly sandbox: Sandbox;
  /** Its owner's use of it. */
  readonly attachmentId: string;
}

/** Write-ahead: before anything exists anywhere, there is a row, a hold and an event. */
export async function hold(house: House, principal: Principal, wanted: Wanted): Promise<Held> {
  const { id, name, consumer, visibility, budgetMicroUsd, profile, reuse, label, spec, plan, claim } = wanted;
  const createdAtMs = house.clock.nowMs();
  const { id: principalId, orgId, keyId, lineage, team } = principal;
  const sandbox: Sandbox = {
    id,
    ...(name !== undefined && { name }),
    orgId,
    principalId,
    consumer: consumer ?? { kind: "person" },
    visibility,
    ...(team !== undefined && { team }),
    ...(profile && { profile }),
    ...(reuse && { reuse }),
    state: "provisioning",
    spec,
    bestEffort: [],
    createdAtMs,
    costMicroUsd: 0,
    ...(budgetMicroUsd !== undefined && { budgetMicroUsd }),
  };
  // Enough for the dearest, since failover may end there.
  const dearest = Math.max(...plan.candidates.map(({ microUsdPerHour }) => microUsdPerHour));
  const attachment = implicitAttachment(principal, id, createdAtMs);
  await house.store.beginCreate({
    sandbox,
    claim,
    label,
    keyId,
    lineage,
    attachment,
    holdMicroUsd: costOver(dearest, Math.min(spec.ttlMs, house.holdSliceMs)),
    creator: house.instance,
    // What was asked, but not its variables: they may hold secrets, and the log is forever.
    data: {
      keyId,
      policy: plan.policy,
      name,
      consumer: sandbox.consumer,
      profile,
      reuse,
      image: spec.image,
      isolation: spec.isolation,
      ttlMs: spec.ttlMs,
      workspace: spec.workspace,
      candidates: plan.candidates.map(({ extensionId }) => extensionId),
      rejected: plan.rejected,
    },
  });
  return { sandbox, attachmentId: attachment.id };
}
