import type {
  Applied,
  ApplyOptions,
  Approval,
  ApprovalState,
  AttachBody,
  Attached,
  Attachment,
  Audit,
  Budget,
  ByteStream,
  ChangesOptions,
  CreateBody,
  CreatedKey,
  CreatedOrg,
  CreateKeyBody,
  CreateOrgBody,
  CreatePreviewBody,
  CreateVolumeBody,
  CreateWebhookBody,
  DecideBody,
  ElevateBody,
  Event,
  ExecInput,
  ExtendBody,
  Files,
  ForkBody,
  IdentityChallenge,
  ImageQuery,
  ImportedPolicy,
  ImportImageOptions,
  ImportOptions,
  KeptImage,
  Key,
  Metrics,
  NetworkCallList,
  OfferedProfile,
  Operation,
  Org,
  Points,
  Principal,
  Probe,
  Process,
  ProcessInfo,
  ProveIdentityBody,
  PruneBody,
  Pruned,
  PublishedProfile,
  PullImageBody,
  PullLine,
  Reachability,
  Receipt,
  RollbackOptions,
  RolledBack,
  RotateSecretBody,
  Sandbox,
  SandboxState,
  Secret,
  SetBudgetBody,
  SetKeyBudgetBody,
  SetSecretBody,
  Snapshot,
  SnapshotFilter,
  StoreReport,
  Suggestion,
  Synced,
  TakeSnapshotBody,
  TerminalSize,
  Volume,
  Webhook,
  Whoami,
  WorkspaceChange,
} from "@sandboxer/contract";
import type { EventQuery } from "./events/follow.ts";
import type { Once } from "./idempotency.ts";
import type { StopOptions } from "./lifecycle/rest.ts";
import type { PreviewEntry, PreviewGrant } from "./preview.ts";
import type { RoutePlan } from "./route/route.ts";

/** The narrow waist, one method a verb. Every way in goes through here and nowhere else. */
export interface Core {
  /** Who holds this key. `unauthenticated` when nobody does. */
  authenticate(apiKey: string): Promise<Principal>;
  whoami(principal: Principal): Promise<Whoami>;
  challengeIdentity(principal: Principal): Promise<IdentityChallenge>;
  proveIdentity(principal: Principal, body: ProveIdentityBody): Promise<Whoami>;
  /** A tenant of its own with its root key. The installation's root key's alone. */
  createOrg(principal: Principal, body: CreateOrgBody, once?: Once): Promise<CreatedOrg>;
  listOrgs(principal: Principal): Promise<Org[]>;
  /** A key derived from the caller's, never wider than that one. The key itself is shown only here. */
  createKey(principal: Principal, body: CreateKeyBody, once?: Once): Promise<CreatedKey>;
  /** The caller's key and everything derived from it. */
  listKeys(principal: Principal): Promise<Key[]>;
  /** Ends the key, everything derived from it, and what any of them is doing now. */
  revokeKey(principal: Principal, idOrName: string): Promise<string[]>;
  /** Built-in ones, and what the org published; each with where it would run, its price and its start. */
  listProfiles(principal: Principal): Promise<OfferedProfile[]>;
  getProfile(principal: Principal, ref: string): Promise<PublishedProfile>;
  /** The next version of its name, for ever as it is. */
  publishProfile(principal: Principal, body: unknown, once?: Once): Promise<PublishedProfile>;
  deprecateProfile(principal: Principal, ref: string): Promise<PublishedProfile>;
  /** A profile that fits what an audited sandbox used. Publishes nothing. */
  suggestProfile(principal: Principal, idOrName: string, name?: string): Promise<Suggestion>;
  /** A profile of an OpenShell policy that allows nothing more, and what of the policy it is not. Publishes nothing. */
  importPolicy(principal: Principal, policy: unknown, name?: string): Promise<ImportedPolicy>;
  create(principal: Principal, body: CreateBody, once?: Once): Promise<Sandbox>;
  /** Ends it and makes another that was asked for in the same words, under the same name. */
  recreate(principal: Principal, idOrName: string, once?: Once): Promise<Sandbox>;
  /** How to get to it, as data. */
  reachability(principal: Principal, idOrName: string): Promise<Reachability>;
  /** By id or by name. Somebody else's sandbox is `not_found`, exactly as an absent one. */
  get(principal: Principal, idOrName: string): Promise<Sandbox>;
  /** Whether the caller may do this in a sandbox that it can see; throws where not, and does nothing. */
  admit(principal: Principal, operation: Operation, idOrName: string): Promise<void>;
  list(principal: Principal, query?: ListQuery): Promise<SandboxPage>;
  exec(principal: Principal, idOrName: string, input: ExecInput): Promise<Process>;
  attachProcess(
    principal: Principal,
    idOrName: string,
    processId: string,
    from?: { stdout?: number; stderr?: number },
  ): Promise<Process>;
  /** What runs in it, and what ended lately. */
  ps(principal: Principal, idOrName: string): Promise<ProcessInfo[]>;
  resize(principal: Principal, idOrName: string, processId: string, size: TerminalSize): Promise<void>;
  /** A connection to a port inside. */
  dial(principal: Principal, idOrName: string, port: number): Promise<ByteStream>;
  /** An address for a port inside, for those who have no key. */
  openPreview(principal: Principal, idOrName: string, body: CreatePreviewBody): Promise<PreviewGrant>;
  /** Who such an address speaks for; `unauthenticated` when its time is up, or its key's. */
  enterPreview(token: string): Promise<PreviewEntry>;
  /** A word for one sandbox that speaks for the caller's key there; always the same. */
  openAccess(principal: Principal, idOrName: string): Promise<string>;
  /** Who such a word speaks for; `unauthenticated` when it is another sandbox's, or its key ended. */
  enterAccess(sandboxId: string, token: string): Promise<Principal>;
  /** Who made a sandbox, for what that one left open to others on purpose, and for nothing else. */
  standIn(sandboxId: string): Promise<Principal>;
  /** Who holds a key, to put away what that one left under way when a gateway ended. */
  actFor(keyId: string): Promise<Principal>;
  /**
   * Who made a sandbox, first, and those above, whether their keys still count or not: for what was
   * asked for when it was made and is to be done in time, and for nothing else.
   */
  makersOf(sandboxId: string): Promise<Principal[]>;
  /** What runs or sleeps under a label, across orgs: for a way in that has to find its own again. */
  listMarked(label: string): Promise<Sandbox[]>;
  files(principal: Principal, idOrName: string): Promise<Files>;
  /** How the sandbox's copy-on-write workspace differs from the host's folder. */
  diff(
    principal: Principal,
    idOrName: string,
    options?: ChangesOptions,
  ): Promise<AsyncIterable<WorkspaceChange>>;
  /** Brings those changes to the host: all or nothing. */
  apply(principal: Principal, idOrName: string, options?: ApplyOptions): Promise<Applied>;
  /** Takes them back inside: all, or what a run and those after it changed. */
  rollback(principal: Principal, idOrName: string, options?: RollbackOptions): Promise<RolledBack>;
  /** Before which runs that can be. */
  listPoints(principal: Principal, idOrName: string): Promise<Points>;
  /** Brings a mirror and the host's folder to the same, for what no command of ours has done. */
  sync(principal: Principal, idOrName: string): Promise<Synced>;
  /** All that a running sandbox ever wrote, as it is now. `create` takes it as `from`. */
  takeSnapshot(
    principal: Principal,
    idOrName: string,
    body?: TakeSnapshotBody,
    once?: Once,
  ): Promise<Snapshot>;
  /** So many new ones as this one is now. */
  fork(principal: Principal, idOrName: string, body?: ForkBody, once?: Once): Promise<Sandbox[]>;
  listSnapshots(principal: Principal, filter?: SnapshotFilter): Promise<Snapshot[]>;
  deleteSnapshot(principal: Principal, idOrName: string): Promise<Snapshot>;
  /** As one file, an OCI layout in a tar archive. */
  exportSnapshot(principal: Principal, idOrName: string): Promise<AsyncIterable<Uint8Array>>;
  importSnapshot(
    principal: Principal,
    source: AsyncIterable<Uint8Array>,
    options?: ImportOptions,
    once?: Once,
  ): Promise<Snapshot>;
  /** The images that extensions keep. */
  listImages(principal: Principal): Promise<KeptImage[]>;
  pullImage(principal: Principal, body: PullImageBody): Promise<AsyncIterable<PullLine>>;
  importImage(
    principal: Principal,
    source: AsyncIterable<Uint8Array>,
    options?: ImportImageOptions,
  ): Promise<KeptImage>;
  removeImage(principal: Principal, query: ImageQuery): Promise<KeptImage>;
  pruneImages(principal: Principal): Promise<Pruned>;
  /** Lets the caller, one of its keys or a conversation into a sandbox, with rights of its own there. */
  attach(principal: Principal, body: AttachBody, once?: Once): Promise<Attached>;
  /** Of what left already, succeeds. The last to leave puts the sandbox to sleep. */
  detach(principal: Principal, attachmentId: string): Promise<Attachment>;
  listAttachments(principal: Principal, idOrName: string): Promise<Attachment[]>;
  /** Moves the end to `ttlMs` from now, and reserves what that costs. */
  extend(principal: Principal, idOrName: string, body: ExtendBody): Promise<Sandbox>;
  /** The account that the caller's sandboxes draw on. */
  getBudget(principal: Principal): Promise<Budget>;
  /** What the whole org may spend, `null` for no limit. The root key's alone. */
  setBudget(principal: Principal, body: SetBudgetBody): Promise<Budget>;
  /** What a derived key with a budget may spend in all; the difference is its giver's. */
  setKeyBudget(principal: Principal, idOrName: string, body: SetKeyBudgetBody): Promise<Budget>;
  /** Where it ran and why, what it reached, how long, what it cost, and for whom. */
  receipt(principal: Principal, idOrName: string): Promise<Receipt>;
  /** Stops every process where it is; of what is paused, succeeds. Its time runs on. */
  pause(principal: Principal, idOrName: string): Promise<Sandbox>;
  /** Of what runs, succeeds. What was stopped gets a new first process over its files, and its time anew. */
  resume(principal: Principal, idOrName: string): Promise<Sandbox>;
  /**
   * Ends every process and keeps every file; of what is stopped, succeeds. `unsupported` for what is
   * ephemeral, unless that is to be kept too.
   */
  stop(principal: Principal, idOrName: string, options?: StopOptions): Promise<Sandbox>;
  metrics(principal: Principal, idOrName: string): Promise<Metrics>;
  /** The rules of its way out from now on. `invalid_state` for one that has none. */
  changeNetwork(principal: Principal, idOrName: string, body: unknown): Promise<Sandbox>;
  /** What it tried, and the rules that would have allowed what was not. */
  networkCalls(principal: Principal, idOrName: string, afterSeq?: number): Promise<NetworkCallList>;
  /** Of what is over, succeeds and answers how it ended. */
  destroy(principal: Principal, idOrName: string): Promise<Sandbox>;
  /** The route a create would take, with every rejected extension and its reason. Starts nothing. */
  explain(principal: Principal, body: CreateBody): Promise<RoutePlan>;
  listEvents(principal: Principal, query?: EventQuery): Promise<Event[]>;
  /** In order, from where the reader left off, for as long as it reads and its key lasts. */
  followEvents(principal: Principal, query?: EventQuery): Promise<AsyncIterable<Event>>;
  /** Whether the org's whole log is as it was written. */
  verifyAudit(principal: Principal): Promise<Audit>;
  /** What waits for somebody's word, and what became of the rest; newest first. */
  listApprovals(principal: Principal, states?: readonly ApprovalState[]): Promise<Approval[]>;
  getApproval(principal: Principal, approvalId: string): Promise<Approval>;
  /** Once, by somebody else than who asks. */
  decideApproval(principal: Principal, approvalId: string, body: DecideBody): Promise<Approval>;
  /** Asks for more ways out of one sandbox, for a while. */
  elevate(principal: Principal, idOrName: string, body: ElevateBody, once?: Once): Promise<Approval>;
  endElevations(principal: Principal, idOrName: string): Promise<Sandbox>;
  /** What it is, is not shown again by anything. The owner's, and whose above it. */
  setSecret(principal: Principal, name: string, body: SetSecretBody): Promise<Secret>;
  /** The caller's own, those granted to it, and those of whom is below it. */
  listSecrets(principal: Principal): Promise<Secret[]>;
  /** Another value from now on; placeholders inside stay as they are. */
  rotateSecret(principal: Principal, name: string, body: RotateSecretBody): Promise<Secret>;
  grantSecret(principal: Principal, name: string, body: { readonly keyId: string }): Promise<Secret>;
  /** From that key and from everything derived from it. */
  revokeSecret(principal: Principal, name: string, keyId: string): Promise<Secret>;
  deleteSecret(principal: Principal, name: string): Promise<void>;
  /** Files that outlive sandboxes; nobody else's but the caller's and of whom is below it. */
  createVolume(principal: Principal, body: CreateVolumeBody, once?: Once): Promise<Volume>;
  listVolumes(principal: Principal): Promise<Volume[]>;
  getVolume(principal: Principal, idOrName: string): Promise<Volume>;
  /** With everything in it. `conflict` while living sandboxes work on it. */
  deleteVolume(principal: Principal, idOrName: string): Promise<void>;
  /** A word for `enterAccess` that speaks for the key in this volume and nowhere else. */
  openVolume(principal: Principal, idOrName: string): Promise<string>;
  createWebhook(
    principal: Principal,
    body: CreateWebhookBody,
    once?: Once,
  ): Promise<{ webhook: Webhook; secret: string }>;
  listWebhooks(principal: Principal): Promise<Webhook[]>;
  deleteWebhook(principal: Principal, webhookId: string): Promise<void>;
  /** How many sandboxes the org has in each state. The root key's alone. */
  census(principal: Principal): Promise<ReadonlyMap<SandboxState, number>>;
  /** What takes room, and who needs it. The installation's root key's alone. */
  listStored(principal: Principal): Promise<StoreReport>;
  /** Removes what nobody needs, or only says what that is. */
  prune(principal: Principal, body?: PruneBody): Promise<StoreReport>;
  /** What every extension says of this machine. */
  doctor(): Promise<ReadonlyMap<string, Probe>>;
  /** Puts right what a crash left behind, then watches the clock. */
  start(): Promise<void>;
  /** Lets go of connections and timers; sandboxes live on, and the store stays open. */
  close(): Promise<void>;
}

export interface ListQuery {
  readonly states?: readonly SandboxState[];
  readonly name?: string;
  readonly limit?: number;
  readonly after?: string;
}

export interface SandboxPage {
  readonly sandboxes: readonly Sandbox[];
  readonly next?: string;
}
