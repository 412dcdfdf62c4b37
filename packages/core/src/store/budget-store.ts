import type { Budget, Sandbox } from "@sandboxer/contract";

/** Money. Part of the store; every method is one commit. */
export interface BudgetStore {
  /** The account that a key's sandboxes draw on: its own, the nearest above it, or the org's. */
  getBudget(orgId: string, keyId: string): Promise<Budget>;
  /** What the whole org may spend; `null` is no limit. `budget_exceeded` below what is already bound. */
  setOrgBudget(set: SetOrgBudget): Promise<Budget>;
  /**
   * What a key that has a budget may spend in all: more comes from where it was allotted from, less
   * goes back there. `undefined` for a key without one.
   */
  setKeyBudget(set: SetKeyBudget): Promise<Budget | undefined>;
  /**
   * Charges a living sandbox up to now, then holds as much as it will cost until `untilMs`, no more
   * and no less. What the budget refuses changes nothing but the charge.
   */
  coverSandbox(cover: CoverSandbox): Promise<Covered | undefined>;
  /** The same for many in one commit, which waits for the disk once. One that cannot be, takes all back. */
  coverSandboxes(covers: readonly CoverSandbox[]): Promise<(Covered | undefined)[]>;
  /** The end of its life moves. `undefined` when it is not living any more. */
  moveExpiry(move: MoveExpiry): Promise<Sandbox | undefined>;
  /** Across orgs: living sandboxes whose hold ends by then, though their time does not. */
  listUncovered(untilMs: number): Promise<Uncovered[]>;
  /** Keys whose time is up give back what they did not spend. */
  endExpiredKeys(nowMs: number): Promise<string[]>;
}

export interface SetOrgBudget {
  readonly orgId: string;
  readonly limitMicroUsd: number | null;
  readonly atMs: number;
  readonly principalId: string;
}

export interface SetKeyBudget {
  readonly orgId: string;
  readonly keyId: string;
  readonly limitMicroUsd: number;
  readonly atMs: number;
  readonly principalId: string;
}

export interface CoverSandbox {
  readonly sandboxId: string;
  readonly atMs: number;
  readonly untilMs: number;
  /** Log it when the budget refuses. */
  readonly announce?: boolean;
}

export interface Covered {
  readonly coveredUntilMs: number;
  /** Why not, when the budget refused. */
  readonly refused?: string;
}

export interface MoveExpiry {
  readonly sandboxId: string;
  readonly expiresAtMs: number;
  readonly atMs: number;
  readonly principalId: string;
}

export interface Uncovered {
  readonly sandboxId: string;
  readonly coveredUntilMs: number;
  readonly expiresAtMs: number;
}
