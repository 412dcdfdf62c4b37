import {
  type CreateBody,
  isOver,
  newSandboxId,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import { needApprovalOfAll } from "./approvals/need.ts";
import { refuseGuest } from "./attachments/acting.ts";
import { createClaimed } from "./create.ts";
import { explain } from "./explain.ts";
import type { House } from "./house.ts";
import { claimOf, type Once } from "./idempotency.ts";
import { teardown } from "./lifecycle/teardown.ts";
import { withoutGranted } from "./network/granted.ts";
import { answerPlanned } from "./planned.ts";
import { authorize } from "./policy/authorize.ts";
import { findSandbox } from "./reach.ts";

/** Looks and asks before it ends anything; then nothing but a failure on the way is lost. */
export async function recreate(
  house: House,
  principal: Principal,
  idOrName: string,
  once: Once = {},
): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.destroy");
  authorize(principal.chain, "sandbox.create");
  const claim = claimOf(house, principal, "sandbox.recreate", idOrName, once);
  return answerPlanned(house, claim, {
    // By its id, since its name is free once it has ended.
    plan: async (left?: { readonly id: string; readonly formerId: string }) => ({
      id: newSandboxId(),
      formerId: left?.formerId ?? (await findSandbox(house, principal, idOrName)).id,
    }),
    work: async ({ id, formerId }) =>
      makeAnew(house, principal, await findSandbox(house, principal, formerId), id),
    async recall({ id }) {
      const made = await house.store.getSandboxById(id);
      return made?.state === "running" || made?.state === "paused" ? made : undefined;
    },
  });
}

async function makeAnew(house: House, principal: Principal, former: Sandbox, id: string): Promise<Sandbox> {
  await refuseGuest(house, principal, former);
  const body = askedAgain(former);
  const { candidates, rejected } = await explain(house, principal, body);
  if (candidates.length === 0) {
    throw new SandboxerError("no_candidate", "no extension can take it again", { details: { rejected } });
  }
  const { spec, name, profile } = former;
  const said = { verb: "recreate", name, profile };
  const both = ["sandbox.destroy", "sandbox.create"] as const;
  await needApprovalOfAll(house, principal, both, { sandbox: former, spec, said });
  if (!isOver(former.state)) {
    const wish = { ending: "destroyed", reason: "to be made anew", principalId: principal.id } as const;
    await teardown(house, former.id, wish);
  }
  house.pass("recreate.ended");
  return createClaimed(house, principal, body, undefined, { id, approved: true });
}

/** The request as it would have to be said to get the same, within the same version of its profile. */
function askedAgain({
  name,
  consumer,
  visibility,
  profile,
  reuse,
  budgetMicroUsd,
  spec,
}: Sandbox): CreateBody {
  const { schema: _, setup, pool: __, forkOf: ___, ...said } = spec;
  return {
    ...said,
    network: withoutGranted(spec.network),
    // Its profile brings the setup along; said again, it would run twice.
    ...(setup && !profile && { setup }),
    ...(name !== undefined && { name }),
    consumer,
    visibility,
    ...(profile && { profile: `${profile.name}@${profile.version}` }),
    ...(reuse && { reuse }),
    ...(budgetMicroUsd !== undefined && { budgetMicroUsd }),
  };
}
