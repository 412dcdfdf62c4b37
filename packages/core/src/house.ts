import type { Guard, Sandbox, TrustPolicy } from "@sandboxer/contract";
import type { Boxes } from "./boxes.ts";
import type { Clock } from "./clock.ts";
import type { Denials } from "./events/denials.ts";
import type { Journal } from "./events/journal.ts";
import type { Reaching } from "./events/reaching.ts";
import type { Uses } from "./events/uses.ts";
import type { PassFailPoint } from "./failpoint.ts";
import type { Leases } from "./leases.ts";
import type { Auditor } from "./lifecycle/audit.ts";
import type { Idle } from "./lifecycle/idle.ts";
import type { Reaper } from "./lifecycle/reaper.ts";
import type { Registry } from "./registry/registry.ts";
import type { Report } from "./report.ts";
import type { Sealer } from "./secrets/sealer.ts";
import type { Shelf } from "./snapshots/shelf.ts";
import type { Store } from "./store/store.ts";
import type { WebhookNetwork } from "./webhooks/network.ts";

/** How a sandbox stood when it was last put right, and what must still be there for it to stand so. */
export interface Standing {
  readonly mark: string;
  readonly idles: boolean;
  readonly guarded: boolean;
}

/** What every verb stands on. */
export interface House {
  readonly store: Store;
  readonly registry: Registry;
  readonly boxes: Boxes;
  readonly journal: Journal;
  readonly denials: Denials;
  readonly uses: Uses;
  readonly reaching: Reaching;
  readonly reaper: Reaper;
  readonly idle: Idle;
  readonly auditor: Auditor;
  readonly leases: Leases;
  readonly clock: Clock;
  /** Goes with every call to an extension; what carries another is never touched. */
  readonly installationId: string;
  /** Signs the addresses of previews. */
  previewSecret(): Promise<string>;
  /** Goes with every row this process begins, so that others can tell when nobody will finish it. */
  readonly instance: string;
  /** Whether what is created here ends with this process. */
  readonly tethered: boolean;
  /** Sandboxes this process is creating now: not for the reconciler to judge. */
  readonly creating: Set<string>;
  /** Teardowns under way, so that all who want an end wait for the same one. */
  readonly teardowns: Map<string, Promise<Sandbox>>;
  /** Sandboxes that were as they should be when last looked at, and how that was. */
  readonly standing: Map<string, Standing>;
  /** Boxes without a row, in quarantine since when. */
  readonly orphans: Map<string, number>;
  /** Requests with an idempotency key under way, so that all who repeat one wait for the same. */
  readonly claims: Map<string, { readonly bodyHash: string; readonly answer: Promise<unknown> }>;
  /** Setups under way, so that all who need the same wait for one. */
  readonly setups: Map<string, Promise<unknown>>;
  /** Changes of a sandbox under way, so that each waits for the one before. */
  readonly turns: Map<string, Promise<unknown>>;
  /** Sandboxes whose hold the budget did not renew: told of, or put to sleep by now. */
  readonly unpaid: Map<string, "warned" | "paused">;
  /** How long a box without a row is kept. */
  readonly orphanGraceMs: number;
  /** The longest that is paid for at once. */
  readonly holdSliceMs: number;
  /** What isolation agents get, by how far they are known. */
  readonly trust: TrustPolicy;
  /** How long a connection waits for somebody's word. */
  readonly askPatienceMs: number;
  readonly webhookNetwork: WebhookNetwork;
  /** Absent where nobody can guard: then no sandbox has a way out. */
  readonly guard?: Guard | undefined;
  /** Whether this process stays, and so guards what others have left running. */
  readonly resident: boolean;
  /** For secrets that must be read again; its key is not in the store. */
  readonly sealer: Sealer;
  /** What commands of other vaults said, by secret. */
  readonly secretValues: Map<
    string,
    { readonly value: string; readonly version: number; readonly atMs: number }
  >;
  /** Where what is in volumes is kept, if there are any. */
  readonly volumesDir: string | undefined;
  /** Where snapshots are kept, if they are. */
  readonly shelf: Shelf | undefined;
  readonly report: Report;
  readonly pass: PassFailPoint;
}
