import type { Event, EventType, Location, Sandbox, SandboxState } from "@sandboxer/contract";
import type { ApprovalStore } from "./approval-store.ts";
import type { AttachmentStore, NewAttachment } from "./attachment-store.ts";
import type { BudgetStore } from "./budget-store.ts";
import type { Claim, IdempotencyStore } from "./idempotency-store.ts";
import type { KeyStore } from "./key-store.ts";
import type { NetworkStore } from "./network-store.ts";
import type { OrgStore } from "./org-store.ts";
import type { ProfileStore } from "./profile-store.ts";
import type { SecretStore } from "./secret-store.ts";
import type { Viewer } from "./viewer.ts";
import type { VolumeStore } from "./volume-store.ts";
import type { WebhookStore } from "./webhook-store.ts";

export type { Viewer } from "./viewer.ts";

/**
 * Everything durable, as atomic commands: each method commits wholly or not at all, and each change
 * of state compares before it sets, so of two racing verbs one wins and the other is told. There
 * is deliberately no `transaction(fn)`: a networked database could not offer it to this code.
 *
 * What has been answered outlives a power cut, but for `beginCreate`, `beginDestroy`,
 * `ensureAttachment`, `appendEvents` and, of what a power cut ends, the `settleCreate` and a
 * `finishDestroy` that charges nothing: they outlive this process when they are answered, and a power
 * cut a moment later. docs/decisions/0005 says why that is enough.
 */
export interface Store
  extends KeyStore,
    IdempotencyStore,
    BudgetStore,
    NetworkStore,
    ProfileStore,
    AttachmentStore,
    OrgStore,
    SecretStore,
    ApprovalStore,
    VolumeStore,
    WebhookStore {
  /** Keeps the first value ever given for the key and answers it from then on. */
  claimMeta(key: string, value: string): Promise<string>;

  /** `conflict` when a living sandbox of the org has the name, `LabelTaken` when one has the label. */
  beginCreate(begin: BeginCreate): Promise<void>;
  /** provisioning → running. `undefined` when it is no longer provisioning. */
  settleCreate(settle: SettleCreate): Promise<Sandbox | undefined>;
  /** The living sandbox of a label, also one that is still being made. */
  findLabelled(orgId: string, label: string): Promise<Sandbox | undefined>;
  /** Logs that it was given out again. `undefined` when it no longer runs under that label. */
  reuseSandbox(reuse: ReuseSandbox): Promise<Sandbox | undefined>;
  /** provisioning → failed; the hold is released. */
  failCreate(end: EndSandbox): Promise<Sandbox | undefined>;
  /** running → paused, all of it still in memory. `undefined` when it does not run. */
  pause(change: ChangeState): Promise<Sandbox | undefined>;
  /** paused → running. `undefined` when it is not paused, or stopped. */
  resume(change: ChangeState): Promise<Sandbox | undefined>;
  /** running | paused → paused, with nothing left but its files. `undefined` when it is so already. */
  stop(change: ChangeState & { readonly expiresAtMs: number }): Promise<Sandbox | undefined>;
  /** paused → running, after a stop. `undefined` when it is not stopped. */
  start(change: ChangeState & { readonly expiresAtMs: number }): Promise<Sandbox | undefined>;
  /** running | paused → destroying, remembering what it will be once that is done. */
  beginDestroy(begin: BeginDestroy): Promise<Sandbox | undefined>;
  /** destroying → what `beginDestroy` said; the meter stops, captures and releases. */
  finishDestroy(end: EndSandbox): Promise<Sandbox | undefined>;
  /** running | paused → lost | expired, for a box that went without us; the meter stops. */
  markGone(end: EndSandbox & { readonly to: "lost" | "expired" }): Promise<Sandbox | undefined>;

  /** By id or by the name of a living one, within the org and what the viewer may see of it. */
  getSandbox(orgId: string, idOrName: string, viewer?: Viewer): Promise<Sandbox | undefined>;
  /** Across orgs: for the house itself, never for a caller. */
  getSandboxById(sandboxId: string): Promise<Sandbox | undefined>;
  /** The key that made it, across orgs: for the house itself, never for a caller. */
  keyOfSandbox(sandboxId: string): Promise<string | undefined>;
  /** Somebody used it; the latest time stays. */
  touchSandbox(sandboxId: string, atMs: number): Promise<void>;
  /** When somebody last did, as far as it was written down. */
  lastUse(sandboxId: string): Promise<number | undefined>;
  /** Newest first. */
  listSandboxes(query: SandboxQuery): Promise<Sandbox[]>;
  /** Of the whole org, by state. */
  countSandboxes(orgId: string): Promise<ReadonlyMap<SandboxState, number>>;
  /** Who sees it whatever its visibility: its owner and those above. */
  lineageOf(sandboxId: string): Promise<string[]>;
  /** Across orgs: every sandbox whose story is not over. */
  listUnfinished(): Promise<UnfinishedSandbox[]>;
  /** The same ones, as little of each as tells whether it still is as it was. */
  listStanding(): Promise<StandingSandbox[]>;
  /** Those of them that run or sleep and have this label. */
  listMarked(label: string): Promise<Sandbox[]>;
  /** One of them. `undefined` when its story is over. */
  getUnfinished(sandboxId: string): Promise<UnfinishedSandbox | undefined>;

  appendEvents(events: readonly NewEvent[]): Promise<void>;
  /** In order. A viewer sees its own and those of sandboxes it sees; the house sees the whole chain. */
  listEvents(orgId: string, afterSeq: number, limit: number, viewer?: Viewer): Promise<Event[]>;
  /** How a sandbox was asked for, came about, and what it used: requested, created or failed, audited. */
  listBirth(orgId: string, sandboxId: string): Promise<Event[]>;
  /** Where it tried to go, as it was written down meanwhile. */
  listReached(orgId: string, sandboxId: string): Promise<Event[]>;
  /** Of one sandbox, or of the whole org. */
  listLedger(orgId: string, sandboxId?: string): Promise<LedgerEntry[]>;

  close(): Promise<void>;
}

/** The store gives it an id, the next `seq` of its org, and its hash. */
export interface NewEvent {
  readonly type: EventType;
  readonly orgId: string;
  readonly atMs: number;
  readonly sandboxId?: string | undefined;
  /** Absent when the house itself acts: the clock, the reconciler. */
  readonly principalId?: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface UnfinishedSandbox extends Sandbox {
  /** The instance that began it; absent where it did not say. */
  readonly creator?: string;
}

export interface StandingSandbox {
  readonly id: string;
  readonly state: SandboxState;
  readonly pauseDepth?: Sandbox["pauseDepth"] | undefined;
  readonly extensionId?: string | undefined;
}

export interface BeginCreate {
  readonly sandbox: Sandbox;
  /** `AlreadyClaimed` when another request has it. */
  readonly claim?: Claim | undefined;
  /** The key that asks. */
  readonly keyId?: string;
  /** Who sees it whatever its visibility. */
  readonly lineage?: readonly string[];
  readonly creator?: string;
  /** Under which it is found again; of one label one lives. */
  readonly label?: string | undefined;
  readonly attachment: NewAttachment;
  readonly holdMicroUsd: number;
  readonly data: NewEvent["data"];
}

export interface ReuseSandbox {
  readonly orgId: string;
  readonly label: string;
  readonly sandboxId: string;
  readonly claim?: Claim | undefined;
  readonly principalId: string;
  readonly atMs: number;
  readonly data: NewEvent["data"];
}

/** Thrown by `beginCreate` when somebody made the label's sandbox meanwhile; nothing was written. */
export class LabelTaken extends Error {
  override readonly name = "LabelTaken";
}

export interface SettleCreate {
  /** Its answer is to be remembered under a claim. */
  readonly claimed?: boolean;
  /** A power cut ends it, so it is told of before the disk has its row. */
  readonly endsWithThisMachine?: boolean;
  readonly sandboxId: string;
  readonly location: Location;
  readonly bestEffort: readonly string[];
  readonly startedAtMs: number;
  readonly expiresAtMs: number;
  /** How long the hold lasts; until the expiry, unless said otherwise. */
  readonly coveredUntilMs?: number;
  readonly microUsdPerHour: number;
  /** While it is paused; left out, the same. */
  readonly pausedMicroUsdPerHour?: number | undefined;
  readonly data: NewEvent["data"];
}

export interface ChangeState {
  readonly sandboxId: string;
  readonly atMs: number;
  /** Where it was not simply asked for. */
  readonly reason?: string;
  /** Absent when the house itself acts. */
  readonly principalId?: string | undefined;
}

export interface BeginDestroy {
  readonly sandboxId: string;
  readonly ending: "destroyed" | "expired";
  readonly reason: string;
  readonly atMs: number;
  readonly principalId?: string | undefined;
  /** What happened before it, written with it. */
  readonly earlier?: readonly NewEvent[];
}

export interface EndSandbox {
  /** A power cut ends it, so an end that costs nothing is told of before the disk has it. */
  readonly endsWithThisMachine?: boolean;
  readonly sandboxId: string;
  readonly atMs: number;
  /** Left out, the reason already on the row stands. */
  readonly reason?: string;
  readonly principalId?: string | undefined;
  readonly data?: NewEvent["data"];
}

export interface SandboxQuery {
  readonly orgId: string;
  readonly viewer?: Viewer | undefined;
  readonly states?: readonly SandboxState[] | undefined;
  readonly name?: string | undefined;
  readonly limit: number;
  /** The id of the last sandbox of the page before. */
  readonly after?: string | undefined;
}

/** Money moves from the credited account to the debited one, so every entry sums to zero. */
export interface LedgerEntry {
  readonly id: string;
  readonly orgId: string;
  /** Absent when a budget moves as a whole. */
  readonly sandboxId: string | null;
  readonly kind: "fund" | "allot" | "hold" | "capture" | "release";
  readonly debit: string;
  readonly debitAccountId: string;
  readonly credit: string;
  readonly creditAccountId: string;
  readonly amountMicroUsd: number;
  /** What a capture charges for; no stretch of time is charged twice. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly atMs: number;
}
