export { type AddressReach, isOpenAddress, reachOfAddress } from "./address.ts";
export {
  type Action,
  APPROVABLE,
  APPROVAL_STATES,
  type Approval,
  type ApprovalState,
  type AskedCall,
  approvalListSchema,
  approvalSchema,
  askedCallSchema,
  type DecideBody,
  decideBodySchema,
  type ElevateBody,
  elevateBodySchema,
} from "./approval.ts";
export {
  type AttachBody,
  type Attached,
  type Attachment,
  type AttachRequest,
  attachBodySchema,
  attachedSchema,
  attachmentListSchema,
  attachmentSchema,
} from "./attachment.ts";
export {
  type Budget,
  budgetSchema,
  type ExtendBody,
  extendBodySchema,
  type SetBudgetBody,
  type SetKeyBudgetBody,
  setBudgetBodySchema,
  setKeyBudgetBodySchema,
} from "./budget.ts";
export { dollars } from "./dollars.ts";
export {
  ERROR_CODES,
  ERRORS,
  type ErrorCode,
  type ErrorDetails,
  isErrorCode,
  SandboxerError,
} from "./errors.ts";
export { EVENT_TYPES, type Event, type EventType, eventSchema } from "./events.ts";
export {
  ATTACHMENT_PROTOCOL_PREFIX,
  decodeInput,
  decodeOutput,
  EXEC_MESSAGE_BYTES,
  EXEC_PROTOCOL,
  EXEC_WINDOW_BYTES,
  type ExecCommand,
  type ExecOpen,
  type ExecReply,
  encodeInput,
  encodeOutput,
  execCommandSchema,
  execOpenSchema,
  execReplySchema,
  KEY_PROTOCOL_PREFIX,
} from "./exec-socket.ts";
export type {
  Box,
  CallContext,
  CreateContext,
  Extension,
  ListedBox,
  Location,
  MetricsFacet,
  NetworkFacet,
  PauseFacet,
  StopFacet,
  Users,
} from "./extension.ts";
export { facetProblems } from "./facets.ts";
export {
  type AsUser,
  type ByteSource,
  type FileChange,
  type FileContent,
  type FileEntry,
  type Files,
  type FileWatch,
  fileChangeSchema,
  fileEntrySchema,
  type ReadOptions,
  type Unpacked,
  type UnpackOptions,
  unpackedSchema,
  type WriteOptions,
} from "./files.ts";
export * from "./guard.ts";
export { canonicalHost, type Host, type HostPattern, parseHostPattern } from "./host.ts";
export {
  extensionIdSchema,
  nameSchema,
  newApiKey,
  newRowId,
  newSandboxId,
  rowIdSchema,
  type SandboxId,
  sandboxIdSchema,
} from "./ids.ts";
export {
  type ImageQuery,
  type ImagesFacet,
  type ImportImageOptions,
  imageListSchema,
  imageQuerySchema,
  importImageOptionsSchema,
  type KeptImage,
  keptImageSchema,
  type Pruned,
  type PullContext,
  type PullImageBody,
  type PullLine,
  prunedSchema,
  pullImageBodySchema,
  pullLineSchema,
} from "./image.ts";
export {
  ISOLATION_CLASSES,
  type IsolationClass,
  isAtLeast,
  isolationClassSchema,
  stronger,
} from "./isolation.ts";
export {
  type CreatedKey,
  type CreateKeyBody,
  createdKeySchema,
  createKeyBodySchema,
  type Key,
  keyListSchema,
  keySchema,
  revokedKeysSchema,
  roleSchema,
  type Whoami,
  whoamiSchema,
} from "./key.ts";
export {
  assertMove,
  canMove,
  isOver,
  SANDBOX_STATES,
  type SandboxState,
  sandboxStateSchema,
} from "./lifecycle.ts";
export { CONTRACT_VERSION, FACETS, type Facet, type Manifest, manifestSchema } from "./manifest.ts";
export { type Metrics, metricsSchema } from "./metrics.ts";
export { addMicroUsd, costOver, type MicroUsd, microUsdSchema } from "./money.ts";
export {
  type ByteBudget,
  byteBudgetSchema,
  type Dlp,
  egressRuleSchema,
  type GuardedNetwork,
  type GuardedNetworkInput,
  guardedNetworkSchema,
  type Network,
  type NetworkRule,
  networkSchema,
  secretsNamedIn,
  secretWord,
} from "./network.ts";
export {
  digestSchema,
  dockerArchiveSchema,
  type OciConfig,
  type OciDescriptor,
  type OciIndex,
  type OciManifest,
  ociConfigSchema,
  ociIndexSchema,
  ociManifestSchema,
} from "./oci.ts";
export {
  type CreatedOrg,
  type CreateOrgBody,
  createdOrgSchema,
  createOrgBodySchema,
  type Org,
  orgListSchema,
  orgSchema,
} from "./org.ts";
export { PLACEHOLDER_MARK } from "./placeholder.ts";
export { type ByteStream, type Ports, portSchema } from "./ports.ts";
export {
  type CreatePreviewBody,
  createPreviewBodySchema,
  type Preview,
  previewSchema,
} from "./preview.ts";
export {
  type Consumer,
  consumerSchema,
  type Principal,
  VISIBILITIES,
  type Visibility,
  visibilitySchema,
} from "./principal.ts";
export { doctorSchema, type Finding, type Probe, probeSchema } from "./probe.ts";
export { type Issue, problemOf } from "./problem.ts";
export {
  collect,
  concatenate,
  type ExecInput,
  type ExecRequest,
  type ExecResult,
  type Exit,
  execRequestSchema,
  exitSchema,
  type Process,
  type ProcessEvent,
  type ProcessInfo,
  processInfoSchema,
  type Signal,
  signalSchema,
  type TerminalSize,
  type Terminals,
  terminalSizeSchema,
} from "./process.ts";
export {
  type ImportedPolicy,
  importedPolicySchema,
  type OfferedProfile,
  type PolicyFinding,
  type Profile,
  type PublishedProfile,
  profileJsonSchema,
  profileListSchema,
  profileRefSchema,
  profileSchema,
  publishedProfileSchema,
  RESERVED_FIELDS,
  type Suggestion,
  suggestionSchema,
  type Usage,
  usageSchema,
  WORKSPACE_REACH,
} from "./profile.ts";
export { type Reachability, reachabilitySchema } from "./reachability.ts";
export { type Reached, type ReachedPlace, reachedSchema } from "./reached.ts";
export { type Receipt, receiptSchema } from "./receipt.ts";
export { DEFAULT_RESOURCES, type Resources, resourcesSchema } from "./resources.ts";
export { REUSE_SCOPES, type Reuse, reuseSchema } from "./reuse.ts";
export {
  type Access,
  accessSchema,
  networkRuleSchema,
  operationSchema,
  type Rights,
  rightsSchema,
  secretNameSchema,
} from "./rights.ts";
export { OPERATIONS, type Operation, ROLES, type Role } from "./roles.ts";
export { ROUTING_POLICIES, type RoutePlan, type Routing, routePlanSchema, routingSchema } from "./routing.ts";
export { type Sandbox, sandboxSchema } from "./sandbox.ts";
export {
  grantSecretBodySchema,
  type RotateSecretBody,
  rotateSecretBodySchema,
  type Secret,
  type SecretBinding,
  type SecretUse,
  type SetSecretBody,
  secretListSchema,
  secretSchema,
  setSecretBodySchema,
  useOf,
} from "./secret.ts";
export {
  type ForkBody,
  type ForkRequest,
  forkBodySchema,
  forkedSchema,
  type ImportOptions,
  importOptionsSchema,
  type LayerKind,
  type Snapshot,
  type SnapshotFilter,
  type Snapshots,
  snapshotListSchema,
  snapshotSchema,
  type TakeSnapshotBody,
  takeSnapshotBodySchema,
} from "./snapshot.ts";
export {
  LAYER_TYPE,
  layoutFileSchema,
  layoutIndexSchema,
  layoutManifestSchema,
  MANIFEST_TYPE,
  SNAPSHOT_ANNOTATIONS,
  snapshotRecordSchema,
} from "./snapshot-layout.ts";
export {
  DEFAULT_KEEP_MS,
  type Image,
  imageSchema,
  labelsSchema,
  MAXIMUM_TTL_MS,
  MINIMUM_TTL_MS,
  namesHostFolder,
  type Persistence,
  type SandboxSpec,
  sandboxSpecSchema,
} from "./spec.ts";
export {
  type PruneBody,
  pruneBodySchema,
  type Stored,
  type StoreReport,
  storeSchema,
} from "./stored.ts";
export {
  type IdentityChallenge,
  identityChallengeSchema,
  identitySchema,
  type LeastIsolation,
  type ProveIdentityBody,
  proveIdentityBodySchema,
  type TrustPolicy,
  type TrustTier,
  trustPolicySchema,
} from "./trust.ts";
export {
  type CreateVolumeBody,
  createVolumeBodySchema,
  type Volume,
  volumeListSchema,
  volumeNameSchema,
  volumeSchema,
} from "./volume.ts";
export {
  type Audit,
  auditSchema,
  type CreateWebhookBody,
  createdWebhookSchema,
  createWebhookBodySchema,
  eventPageSchema,
  type Webhook,
  webhookListSchema,
  webhookSchema,
} from "./webhook.ts";
export {
  type CreateBody,
  createBodySchema,
  createRequestSchema,
  type ExecLine,
  emptySchema,
  errorAnswerSchema,
  execBodySchema,
  execLineSchema,
  healthSchema,
  listAnswerSchema,
  listingSchema,
  listQuerySchema,
  madeSchema,
  processListSchema,
  signalBodySchema,
  writtenSchema,
  xattrsAnswerSchema,
} from "./wire.ts";
export {
  type Applied,
  type ApplyOptions,
  appliedSchema,
  applyBodySchema,
  type Changes,
  type ChangesOptions,
  changesBodySchema,
  conflictsSchema,
  type Mirror,
  type Point,
  type Points,
  pointSchema,
  pointsSchema,
  type RollbackOptions,
  type RolledBack,
  rollbackBodySchema,
  rolledBackSchema,
  type Synced,
  syncedSchema,
  WORKSPACE_MODES,
  type Workspace,
  type WorkspaceChange,
  type WorkspaceMode,
  workspaceChangeSchema,
  workspaceSchema,
} from "./workspace.ts";
