export type {
  Approval,
  CreateBody,
  ErrorCode,
  Event,
  ExecInput,
  ExecResult,
  Exit,
  FileChange,
  FileEntry,
  ForkBody,
  Metrics,
  Preview,
  ProcessEvent,
  ProcessInfo,
  Receipt,
  RoutePlan,
  Sandbox as SandboxInfo,
  SandboxState,
  Signal,
  Snapshot,
  Volume,
} from "@sandboxer/contract";
export { SandboxerError } from "@sandboxer/contract";
export type { Approvals } from "./approvals.ts";
export type { Attachments } from "./attachments.ts";
export { type Client, type ClientOptions, createClient, type ListOptions, type Page } from "./client.ts";
export type { SandboxFiles } from "./files.ts";
export type { ImageShelf } from "./images.ts";
export type { Keys } from "./keys.ts";
export type { Log, Webhooks } from "./log.ts";
export type { Orgs } from "./orgs.ts";
export type { RemoteProcess } from "./process.ts";
export type { Profiles } from "./profiles.ts";
export type { RunOptions, Sandbox, Way } from "./sandbox.ts";
export type { Secrets } from "./secrets.ts";
export type { SnapshotShelf } from "./snapshots.ts";
export type { SocketMaker } from "./sockets.ts";
export type { StoreView } from "./store.ts";
export type { Fetch, Once } from "./transport.ts";
export type { Volumes } from "./volumes.ts";
