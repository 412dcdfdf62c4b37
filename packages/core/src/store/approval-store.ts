import type { Approval, ApprovalState, NetworkRule } from "@sandboxer/contract";

/** What waits for a word, and what was said. Part of the store; every method is one commit. */
export interface ApprovalStore {
  /** One that waits with the same digest is given back instead. */
  askApproval(ask: NewApproval): Promise<KeptApproval>;
  getApproval(orgId: string, approvalId: string): Promise<KeptApproval | undefined>;
  /** Newest first. */
  listApprovals(orgId: string, states: readonly ApprovalState[], limit: number): Promise<KeptApproval[]>;
  countPending(sandboxId: string): Promise<number>;
  /** pending → approved, used or denied, with all that follows from it. `undefined` when it no longer waits. */
  decideApproval(decide: DecideApproval): Promise<KeptApproval | undefined>;
  /** approved → used, once. */
  useApproval(use: UseApproval): Promise<boolean>;
  /** pending → withdrawn. */
  withdrawApproval(approvalId: string, atMs: number): Promise<void>;
  /** pending or approved → expired, for all whose time is up; elevations end likewise. Across orgs. */
  expireApprovals(nowMs: number): Promise<void>;
  /** What a sandbox may reach for a while. */
  listElevations(sandboxId: string, nowMs: number): Promise<Elevation[]>;
  /** Before their time. */
  endElevations(end: {
    readonly sandboxId: string;
    readonly principalId: string;
    readonly atMs: number;
  }): Promise<void>;
}

export interface Elevation {
  readonly approvalId: string;
  readonly rules: readonly NetworkRule[];
  readonly untilMs: number;
}

export interface KeptApproval extends Approval {
  readonly digest: string;
  /** The one it is asked for, and everybody above: they see it. */
  readonly lineage: readonly string[];
}

export interface NewApproval extends Pick<Approval, "id" | "orgId" | "sandboxId" | "requesters" | "action"> {
  readonly digest: string;
  readonly lineage: readonly string[];
  readonly principalId?: string | undefined;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

export interface DecideApproval {
  readonly orgId: string;
  readonly approvalId: string;
  readonly to: "approved" | "used" | "denied";
  readonly scope: "once" | "sandbox";
  readonly principalId: string;
  readonly atMs: number;
  /** Until when a yes can be used. */
  readonly usableUntilMs: number;
  /** Written to the sandbox's rules from now on. */
  readonly rule?: NetworkRule | undefined;
  readonly elevation?: { readonly rules: readonly NetworkRule[]; readonly untilMs: number } | undefined;
}

export interface UseApproval {
  readonly orgId: string;
  readonly principalId: string;
  readonly digest: string;
  readonly atMs: number;
}
