import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { isOver, type Principal, SandboxerError } from "@sandboxer/contract";
import { isAbandoned } from "./abandoned.ts";
import { canonicalJson } from "./events/chain.ts";
import type { House } from "./house.ts";
import { AlreadyClaimed, type Claim } from "./store/idempotency-store.ts";

const LOOK_EVERY_MS = 20;
const PATIENCE_MS = 120_000;

/** What every verb that creates takes besides its body. */
export interface Once {
  /** The caller's own word for this request: asked again with it, there is still one. */
  readonly idempotencyKey?: string | undefined;
}

/** Bound to the principal: what somebody else asked under the same word is neither seen nor disturbed. */
export function claimOf(
  house: House,
  { orgId, id }: Principal,
  operation: string,
  body: unknown,
  { idempotencyKey }: Once,
): Claim | undefined {
  if (idempotencyKey === undefined) return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    throw new SandboxerError("invalid_request", "an idempotency key is 1 to 255 visible ASCII characters");
  }
  return {
    scope: digest(canonicalJson([orgId, id, idempotencyKey])),
    bodyHash: digest(canonicalJson([operation, body])),
    atMs: house.clock.nowMs(),
  };
}

/** The answer there is for the claim, or the work's, done once however many ask. */
export async function answerOnce<T>(
  house: House,
  claim: Claim | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (!claim) return work();
  const underWay = house.claims.get(claim.scope);
  if (underWay?.bodyHash === claim.bodyHash) return underWay.answer as Promise<T>;
  if (underWay) {
    throw new SandboxerError("idempotency_mismatch", "this idempotency key stands for another request");
  }
  const answer = replayOr(house, claim, work).finally(() => house.claims.delete(claim.scope));
  house.claims.set(claim.scope, { bodyHash: claim.bodyHash, answer });
  return answer;
}

async function replayOr<T>(house: House, claim: Claim, work: () => Promise<T>): Promise<T> {
  const before = await replayed<T>(house, claim);
  if (before) return before.answer;
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AlreadyClaimed)) throw error;
    const meanwhile = await replayed<T>(house, claim);
    if (meanwhile) return meanwhile.answer;
    throw new SandboxerError("conflict", "the first request with this idempotency key failed", {
      hint: "Ask again, with the same key.",
    });
  }
}

/** Waits while another gateway is at it. What a crash left half-made is ended by the reconciler. */
async function replayed<T>(house: House, claim: Claim): Promise<{ answer: T } | undefined> {
  const deadline = house.clock.monotonicMs() + PATIENCE_MS;
  for (;;) {
    const replay = await house.store.findReplay(claim);
    if (!replay) return undefined;
    if (replay.answer !== undefined) return { answer: JSON.parse(replay.answer) as T };
    // Nobody is at it any more: whoever asks takes it up from what was planned.
    if (isAbandoned(house, replay)) return undefined;
    const sandbox = replay.sandboxId && (await house.store.getSandboxById(replay.sandboxId));
    if ((sandbox && isOver(sandbox.state)) || house.clock.monotonicMs() > deadline) {
      throw new SandboxerError("conflict", "the first request with this idempotency key has no answer yet", {
        details: { sandboxId: replay.sandboxId },
        hint: "Ask again later, with the same key.",
      });
    }
    await setTimeout(LOOK_EVERY_MS);
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
