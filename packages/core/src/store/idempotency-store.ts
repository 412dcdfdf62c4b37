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
}

export interface Replay {
  /** Absent while the first to ask is still at it. */
  readonly answer?: string;
  readonly sandboxId?: string;
}

/** Thrown by a command whose claim somebody else has made meanwhile; nothing was written. */
export class AlreadyClaimed extends Error {
  override readonly name = "AlreadyClaimed";
}
