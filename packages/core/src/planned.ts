import { SandboxerError } from "@sandboxer/contract";
import { isAbandoned } from "./abandoned.ts";
import type { House } from "./house.ts";
import { answerOnce } from "./idempotency.ts";
import type { Claim } from "./store/idempotency-store.ts";

/** Work of several commits: what it is going to make, how, and how to find that again. */
export interface Planned<Plan, Answer> {
  /** Ids that are chosen now, so that a crash leaves something to ask for. `left`: by an earlier try. */
  plan(left?: Plan): Promise<Plan>;
  work(plan: Plan): Promise<Answer>;
  /** What an earlier try that nobody finished has made of it; nothing when it has to be done anew. */
  recall(plan: Plan): Promise<Answer | undefined>;
}

/**
 * As `answerOnce`, where no single commit can hold both the work and its answer. The plan is written
 * before anything is begun: after a crash the same key finds what was made, or makes it cleanly.
 */
export async function answerPlanned<Plan, Answer>(
  house: House,
  claim: Claim | undefined,
  planned: Planned<Plan, Answer>,
): Promise<Answer> {
  if (!claim) return planned.work(await planned.plan());
  return answerOnce(house, claim, async () => {
    const left = await abandonedPlan<Plan>(house, claim);
    if (left !== undefined) {
      const answer = await planned.recall(left);
      if (answer !== undefined) return finish(house, claim, answer);
      await house.store.dropClaim(claim);
    }
    const plan = await planned.plan(left);
    await house.store.beginClaim(claim, { plan: JSON.stringify(plan), creator: house.instance });
    house.pass("claim.planned");
    try {
      return await finish(house, claim, await planned.work(plan));
    } catch (error) {
      // It made nothing that stays, so the key is free for another try.
      await house.store.dropClaim(claim).catch(() => {});
      throw SandboxerError.from(error);
    }
  });
}

/** That of a process that is gone, or of this one when it could not even take it back. */
async function abandonedPlan<Plan>(house: House, claim: Claim): Promise<Plan | undefined> {
  const replay = await house.store.findReplay(claim);
  if (!isAbandoned(house, replay)) return undefined;
  return JSON.parse(replay.plan) as Plan;
}

async function finish<Answer>(house: House, claim: Claim, answer: Answer): Promise<Answer> {
  house.pass("claim.done");
  await house.store.finishClaim(claim, JSON.stringify(answer));
  return answer;
}
