import type { Files } from "./files.ts";
import type { GuardDoor } from "./guard.ts";
import type { ImagesFacet } from "./image.ts";
import type { Manifest } from "./manifest.ts";
import type { Metrics } from "./metrics.ts";
import type { Ports } from "./ports.ts";
import type { Probe } from "./probe.ts";
import type { ExecRequest, Process, ProcessInfo, Terminals } from "./process.ts";
import type { Snapshots } from "./snapshot.ts";
import type { SandboxSpec } from "./spec.ts";
import type { Stored } from "./stored.ts";
import type { Applied, Changes, Mirror } from "./workspace.ts";

export interface CallContext {
  /** Every resource anywhere carries it; what carries another is never touched. */
  readonly installationId: string;
  readonly signal?: AbortSignal;
}

export interface CreateContext extends CallContext {
  /** Also the idempotency key: asked twice with the same id, there is still one sandbox. */
  readonly sandboxId: string;
  readonly orgId: string;
  /** It ends when this process does, however that comes. Left to its own end where that cannot be had. */
  readonly tethered?: boolean;
  /** What was kept under this key lies on the image, if it is there: `Box.isSetUp` says so. */
  readonly setupKey?: string | undefined;
  /** It begins as a copy of what `freeze` of the same extension gave these for. */
  readonly layers?: readonly string[];
  /** Told what takes so long, now and then, in a sentence for people. */
  readonly progress?: (message: string) => void;
}

/** Where a sandbox is. `ref` is the extension's own word for it. */
export interface Location {
  readonly extensionId: string;
  readonly hostId: string;
  readonly ref: string;
}

export interface ListedBox {
  readonly ref: string;
  readonly sandboxId: string;
  readonly hostId: string;
  readonly installationId: string;
  readonly createdAtMs?: number;
  readonly expiresAtMs?: number;
  readonly paused?: boolean;
  /** Nothing of it runs; its files are kept until `expiresAtMs`. */
  readonly stopped?: boolean;
  /** What was brought to its workspace's folder, and whoever asked for it died before it was told: said once. */
  readonly applied?: readonly Applied[];
}

/** The facet `users`: a sandbox can tell several people apart. */
export interface Users {
  /**
   * A user with this id, who shares the ordinary user's home and owns nothing in it; asked again,
   * the same. Gives the name to act under. `unsupported` where this sandbox has one user only.
   * One that `writes` is of the ordinary user's group, which from then on may write there what it
   * may read; what somebody keeps private stays so.
   */
  admit(uid: number, options?: { readonly writes?: boolean }): Promise<string>;
}

/** A live connection to one sandbox. Closing it leaves the sandbox alone. */
export interface Box {
  readonly ref: string;
  readonly hostId: string;
  /**
   * Runs as one attachment of a principal to this sandbox: its rights and its name in every log.
   * With `points` a copy-on-write workspace can go back to before it; so many are kept.
   */
  exec(request: ExecRequest, attachmentId: string, points?: number): Promise<Process>;
  /** A process that goes on from an earlier `exec`; output from these offsets where still kept. */
  attachProcess(id: string, from?: { stdout?: number; stderr?: number }): Promise<Process>;
  /** Those that run, and the last that ended, oldest first. */
  processes(): Promise<ProcessInfo[]>;
  readonly files: Files;
  /** Facets: there if and only if the manifest lists them. */
  readonly pty?: Terminals;
  readonly ports?: Ports;
  readonly workspace?: Changes;
  /** There if and only if its workspace is a mirror. */
  readonly mirror?: Mirror;
  readonly snapshots?: Snapshots;
  readonly users?: Users;
  /** Made with what was kept under the `setupKey`. */
  readonly isSetUp?: boolean;
  /** Resolves when the connection is over, for whatever reason; the box may live on. */
  readonly closed: Promise<void>;
  close(): void;
  /** What was asked as a preference and is not in force here, each in one sentence. */
  readonly bestEffort: readonly string[];
}

/** Stops every process of a sandbox where it is. Its time runs on, and its end comes as promised. */
export interface PauseFacet {
  /** Of what is paused, succeeds. Nothing of the sandbox runs any more when this resolves. */
  pause(ref: string, context: CallContext): Promise<void>;
  /** Of what runs, succeeds. */
  resume(ref: string, context: CallContext): Promise<void>;
}

/** Sandboxes of which only the files are there for a while. */
export interface StopFacet {
  /**
   * Of what is stopped, succeeds. Every process is over and every file on the disk when this resolves.
   * One that is ephemeral is kept for `keepMs`; `unsupported` without that, or where it cannot be.
   */
  stop(ref: string, context: CallContext, keepMs?: number): Promise<void>;
  /** A new first process over the same files; a time of its own, as in the spec. Of what runs, attaches. */
  start(spec: SandboxSpec, context: CreateContext): Promise<Box>;
  /**
   * What a sandbox wrote, as layers to be shared by copies of it, which then cost nothing of what it
   * wrote; it goes on as it is. Nothing where these files cannot be shared: of one that runs they
   * only can where the store shares blocks.
   */
  freeze(ref: string, context: CallContext): Promise<readonly string[] | undefined>;
  /** One that is stopped, to be read while it stays so; closing the box is its end. */
  read(spec: SandboxSpec, context: CreateContext): Promise<Box>;
}

export interface MetricsFacet {
  read(ref: string, context: CallContext): Promise<Metrics>;
}

/** Sandboxes asked for with a guarded network have a way out, which only the guard can open. */
export interface NetworkFacet {
  door(ref: string): GuardDoor;
}

/**
 * A way out. Cheap to construct: nothing happens until a method is called. Every method throws
 * SandboxerError and nothing else.
 */
export interface Extension {
  readonly manifest: Manifest;
  probe(): Promise<Probe>;
  create(spec: SandboxSpec, context: CreateContext): Promise<Box>;
  /** `not_found` when there is no such box, `invalid_state` when it is paused; never null. */
  attach(ref: string, context: CallContext): Promise<Box>;
  /** Complete, or throws. An empty answer means there are none. */
  list(context: CallContext): Promise<ListedBox[]>;
  /** Of what is gone, succeeds. Anything else that prevents it, throws. */
  destroy(ref: string, context: CallContext): Promise<void>;
  /** Moves the end of life to `ttlMs` from now. */
  extend(ref: string, ttlMs: number, context: CallContext): Promise<void>;
  /** Facets of the extension and not of a box: what is paused answers nobody. */
  readonly pause?: PauseFacet;
  readonly stop?: StopFacet;
  readonly metrics?: MetricsFacet;
  readonly network?: NetworkFacet;
  /** What its sandboxes take on its hosts, where it can tell. */
  stored?(context: CallContext): Promise<Stored[]>;
  readonly images?: ImagesFacet;
  /** Lets go of every connection. Sandboxes live on. */
  close(): Promise<void>;
}
