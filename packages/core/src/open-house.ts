import { randomBytes } from "node:crypto";
import {
  type Extension,
  type Guard,
  newRowId,
  type TrustPolicy,
  trustPolicySchema,
} from "@sandboxer/contract";
import { createBoxes } from "./boxes.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createDenials } from "./events/denials.ts";
import { createJournal } from "./events/journal.ts";
import { createReaching } from "./events/reaching.ts";
import { createUses } from "./events/uses.ts";
import type { PassFailPoint } from "./failpoint.ts";
import type { House } from "./house.ts";
import { nameInstance } from "./instance.ts";
import { createLeases } from "./leases.ts";
import { createAuditor } from "./lifecycle/audit.ts";
import { endIfUnused } from "./lifecycle/disuse.ts";
import { expire } from "./lifecycle/expiry.ts";
import { createIdle } from "./lifecycle/idle.ts";
import { createReaper } from "./lifecycle/reaper.ts";
import { type PackageHosts, usePackageHosts } from "./network/package-hosts.ts";
import { createRegistry, type Prices } from "./registry/registry.ts";
import { type Report, reportAsWarning } from "./report.ts";
import { createSealer, type Sealer } from "./secrets/sealer.ts";
import { openShelf, type ShelfOptions } from "./snapshots/shelf.ts";
import type { Store } from "./store/store.ts";
import { OPEN_INTERNET, type WebhookNetwork } from "./webhooks/network.ts";

const HOLD_SLICE_MS = 3_600_000;
const ORPHAN_GRACE_MS = 900_000;
const ASK_PATIENCE_MS = 120_000;

export interface CoreOptions {
  /** Stays open when core closes: who opened it closes it. */
  readonly store: Store;
  readonly extensions: readonly Extension[];
  /** Further ones, which come with this release: its tests have checked their manifests. */
  readonly builtIn?: readonly Extension[];
  /** Told of what goes wrong in the background; a process warning, unless said otherwise. */
  readonly report?: Report;
  readonly clock?: Clock;
  /** What the operator asks for an hour on an extension, instead of what its manifest says. */
  readonly prices?: Prices;
  /** Extensions that are used although what they run on is known to be unsafe; each sandbox records it. */
  readonly allowUnsafeRuntime?: readonly string[];
  /** The longest that is held for at once; an hour, unless said otherwise. */
  readonly holdSliceMs?: number;
  /** How long a box that the store does not know is kept, paused; a quarter of an hour, unless said otherwise. */
  readonly orphanGraceMs?: number;
  /** How long a connection waits for somebody's word; two minutes, unless said otherwise. */
  readonly askPatienceMs?: number | undefined;
  /** What isolation agents get, by how far they are known: the strongest there is, unless they are verified. */
  readonly trust?: TrustPolicy | undefined;
  /** How webhooks get out: to the open internet and nowhere else, unless a test brings its own. */
  readonly webhookNetwork?: WebhookNetwork;
  /** Stays open when core closes. Without one, no sandbox can have a way out. */
  readonly guard?: Guard | undefined;
  /** This process stays, and guards what runs already. */
  readonly resident?: boolean;
  /** Where packages come from, by the name of their rule set; the same for all of a process. */
  readonly packageHosts?: PackageHosts;
  /** Seals secrets in the store. Left out, what this process seals dies with it. */
  readonly sealer?: Sealer;
  /** What is created ends with this process, however that comes. */
  readonly tethered?: boolean;
  /** Where snapshots are kept, and the key that vouches for them; without it there are none. */
  readonly snapshots?: ShelfOptions;
  /** Where what is in volumes is kept; without it there are none. */
  readonly volumesDir?: string;
  /** For tests. */
  readonly failpoint?: PassFailPoint;
}

/** What every verb stands on, with nothing running yet. */
export async function openHouse(options: CoreOptions, onBroken: (sandboxId: string) => void): Promise<House> {
  const { store, extensions, clock = systemClock, report = reportAsWarning } = options;
  if (options.packageHosts) usePackageHosts(options.packageHosts);
  const journal = createJournal(store, report);
  const registry = createRegistry(extensions, { ...options, clock });
  const installationId = await store.claimMeta("installation-id", newRowId("ins"));
  const house: House = {
    store,
    clock,
    report,
    volumesDir: options.volumesDir,
    shelf: options.snapshots && openShelf(options.snapshots),
    registry,
    boxes: createBoxes(onBroken),
    journal,
    denials: createDenials(journal, () => clock.nowMs(), report),
    uses: createUses(journal, () => clock.nowMs(), report),
    reaching: createReaching({ store, journal, clock, report }),
    reaper: createReaper(clock, (id) => expire(house, id), report),
    idle: createIdle({ store, clock, report, leftMs: (id, idleMs) => endIfUnused(house, id, idleMs) }),
    auditor: createAuditor({ registry, journal, clock, report, installationId }),
    leases: createLeases(store, clock, report),
    installationId,
    previewSecret: claimedWhenAsked(store, "preview-secret", () => randomBytes(32).toString("base64url")),
    instance: nameInstance(),
    tethered: options.tethered ?? false,
    pass: options.failpoint ?? (() => {}),
    creating: new Set(),
    teardowns: new Map(),
    standing: new Map(),
    orphans: new Map(),
    orphanGraceMs: options.orphanGraceMs ?? ORPHAN_GRACE_MS,
    claims: new Map(),
    setups: new Map(),
    secretValues: new Map(),
    turns: new Map(),
    unpaid: new Map(),
    sealer: options.sealer ?? createSealer(randomBytes(32)),
    webhookNetwork: options.webhookNetwork ?? OPEN_INTERNET,
    guard: options.guard,
    resident: options.resident ?? false,
    askPatienceMs: options.askPatienceMs ?? ASK_PATIENCE_MS,
    trust: trustPolicySchema.parse(options.trust ?? {}),
    holdSliceMs: options.holdSliceMs ?? HOLD_SLICE_MS,
  };
  return house;
}

/** A commit that most lives of a core never need. */
function claimedWhenAsked(store: Store, key: string, make: () => string): () => Promise<string> {
  let claimed: Promise<string> | undefined;
  return () => {
    claimed ??= store.claimMeta(key, make());
    return claimed;
  };
}
