import { type CreateBody, isOver, type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import { refuseGuest } from "./attachments/acting.ts";
import { createClaimed } from "./create.ts";
import { explain } from "./explain.ts";
import type { House } from "./house.ts";
import { answerOnce, claimOf, type Once } from "./idempotency.ts";
import { teardown } from "./lifecycle/teardown.ts";
import { authorize } from "./policy/authorize.ts";
import { findSandbox } from "./reach.ts";

/** Looks before it ends anything whether another could be made; then nothing but a failure on the way is lost. */
export async function recreate(
  house: House,
  principal: Principal,
  idOrName: string,
  once: Once = {},
): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.destroy");
  authorize(principal.chain, "sandbox.create");
  const claim = claimOf(house, principal, "sandbox.recreate", idOrName, once);
  return answerOnce(house, claim, async () => {
    const former = await findSandbox(house, principal, idOrName);
    await refuseGuest(house, principal, former);
    const body = askedAgain(former);
    const { candidates, rejected } = await explain(house, principal, body);
    if (candidates.length === 0) {
      throw new SandboxerError("no_candidate", "no extension can take it again", { details: { rejected } });
    }
    if (!isOver(former.state)) {
      const wish = { ending: "destroyed", reason: "to be made anew", principalId: principal.id } as const;
      await teardown(house, former.id, wish);
    }
    return createClaimed(house, principal, body, claim);
  });
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
