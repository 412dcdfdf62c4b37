export const ANSWERS_LAST_MS = 24 * 3_600_000;

/** One caller's wish under one idempotency key: `scope` is both, hashed; `bodyHash` is what was asked. */
export interface Claim {
  readonly scope: string;
  readonly bodyHash: string;
  readonly atMs: number;
}

/** Remembers for 24 hours what a claim led to. */
export interface IdempotencyStore {
  /** `idempotency_mismatch` when the key stands for another request. */
  findReplay(claim: Claim): Promise<Replay | undefined>;
  /** For work of several commits. `AlreadyClaimed` when another request has it. */
  beginClaim(claim: Claim, begun: { readonly plan: string; readonly creator: string }): Promise<void>;
  /** From now on the claim has this answer. */
  finishClaim(claim: Claim, answer: string): Promise<void>;
  /** The key is free again, unless there is an answer. */
  dropClaim(claim: Claim): Promise<void>;
}

export interface Replay {
  /** Absent while the first to ask is still at it. */
  readonly answer?: string;
  readonly sandboxId?: string;
  /** What it was going to make, and the instance that was at it. */
  readonly plan?: string;
  readonly creator?: string;
}

/** Thrown by a command whose claim somebody else has made meanwhile; nothing was written. */
export class AlreadyClaimed extends Error {
  override readonly name = "AlreadyClaimed";
}
