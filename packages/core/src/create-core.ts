import { randomBytes } from "node:crypto";
import { type Extension, type Guard, newRowId, SandboxerError } from "@sandboxer/contract";
import { enterAccess, openAccess, openVolume, standIn } from "./access.ts";
import { apply } from "./apply.ts";
import { getApproval, listApprovals } from "./approvals/approvals.ts";
import { answerAsks } from "./approvals/connections.ts";
import { decideApproval } from "./approvals/decide.ts";
import { elevate, endElevations } from "./approvals/elevate.ts";
import { attachProcess } from "./attach-process.ts";
import { attach } from "./attachments/attach.ts";
import { detach, listAttachments } from "./attachments/detach.ts";
import { createBackground } from "./background.ts";
import { createBoxes } from "./boxes.ts";
import { getBudget, setBudget, setKeyBudget } from "./budget.ts";
import { census } from "./census.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { Core } from "./core.ts";
import { create } from "./create.ts";
import { destroy } from "./destroy.ts";
import { dial } from "./dial.ts";
import { diff } from "./diff.ts";
import { createDenials, recordIfDenied } from "./events/denials.ts";
import { followEvents, listEvents, verifyAudit } from "./events/follow.ts";
import { createJournal } from "./events/journal.ts";
import { recordMisuses } from "./events/misuses.ts";
import { createUses } from "./events/uses.ts";
import { exec } from "./exec.ts";
import { explain } from "./explain.ts";
import { extend } from "./extend.ts";
import type { PassFailPoint } from "./failpoint.ts";
import { files } from "./files.ts";
import { get } from "./get.ts";
import type { House } from "./house.ts";
import { importImage, listImages, pruneImages, pullImage, removeImage } from "./images.ts";
import { nameInstance } from "./instance.ts";
import { authenticate, createKey, listKeys, revokeKey, whoami } from "./keys.ts";
import { createLeases } from "./leases.ts";
import { createAuditor } from "./lifecycle/audit.ts";
import { endIfUnused } from "./lifecycle/disuse.ts";
import { expire } from "./lifecycle/expiry.ts";
import { createIdle } from "./lifecycle/idle.ts";
import { createReaper } from "./lifecycle/reaper.ts";
import { list } from "./list.ts";
import { metrics } from "./metrics.ts";
import { changeNetwork, networkCalls } from "./network/network.ts";
import { type PackageHosts, usePackageHosts } from "./network/package-hosts.ts";
import { createOrg, listOrgs } from "./orgs.ts";
import { pause } from "./pause.ts";
import { enterPreview, openPreview } from "./preview.ts";
import { listProfiles } from "./profiles/offers.ts";
import { deprecateProfile, getProfile, publishProfile } from "./profiles/profiles.ts";
import { suggestProfile } from "./profiles/suggest.ts";
import { ps } from "./ps.ts";
import { reachability } from "./reachability.ts";
import { receipt } from "./receipt.ts";
import { recreate } from "./recreate.ts";
import { createRegistry, type Prices } from "./registry/registry.ts";
import { type Report, reportAsWarning } from "./report.ts";
import { resize } from "./resize.ts";
import { resume } from "./resume.ts";
import { rollback } from "./rollback.ts";
import { grantSecret, revokeSecret } from "./secrets/grants.ts";
import { createSealer, type Sealer } from "./secrets/sealer.ts";
import { deleteSecret, listSecrets, rotateSecret, setSecret } from "./secrets/secrets.ts";
import { fork } from "./snapshots/fork.ts";
import { openShelf, type ShelfOptions } from "./snapshots/shelf.ts";
import { deleteSnapshot, exportSnapshot, importSnapshot, listSnapshots } from "./snapshots/snapshots.ts";
import { takeSnapshot } from "./snapshots/take.ts";
import { stop } from "./stop.ts";
import type { Store } from "./store/store.ts";
import { listStored, prune } from "./stored.ts";
import { sync } from "./sync.ts";
import { createVolume, deleteVolume, getVolume, listVolumes } from "./volumes/volumes.ts";
import { OPEN_INTERNET, type WebhookNetwork } from "./webhooks/network.ts";
import { createWebhook, deleteWebhook, listWebhooks } from "./webhooks/webhooks.ts";

export interface CoreOptions {
  /** Stays open when core closes: who opened it closes it. */
  readonly store: Store;
  readonly extensions: readonly Extension[];
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
async function openHouse(options: CoreOptions, onBroken: (sandboxId: string) => void): Promise<House> {
  const { store, extensions, clock = systemClock, report = reportAsWarning } = options;
  if (options.packageHosts) usePackageHosts(options.packageHosts);
  const journal = createJournal(store, report);
  const registry = createRegistry(extensions, clock, options.prices, options.allowUnsafeRuntime);
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
    holdSliceMs: options.holdSliceMs ?? HOLD_SLICE_MS,
  };
  return house;
}

export async function createCore(options: CoreOptions): Promise<Core> {
  // A connection that breaks by itself is the first word of a box that died.
  const house = await openHouse(options, (id) => house.teardowns.has(id) || background.lookSoon());
  const background = createBackground(house);
  if (house.guard) {
    recordMisuses(house, house.guard);
    answerAsks(house, house.guard);
  }
  const verb = onlyOurErrors(house);

  return {
    ...verbsOf(house),
    start: verb(background.start),
    close: verb(background.close),
  };
}

/** Every verb there is, but for the beginning and the end. */
function verbsOf(house: House): Omit<Core, "start" | "close"> {
  const verb = onlyOurErrors(house);
  return {
    authenticate: verb(authenticate),
    whoami: verb(whoami),
    createOrg: verb(createOrg),
    listOrgs: verb(listOrgs),
    createKey: verb(createKey),
    listKeys: verb(listKeys),
    revokeKey: verb(revokeKey),
    listProfiles: verb(listProfiles),
    getProfile: verb(getProfile),
    publishProfile: verb(publishProfile),
    deprecateProfile: verb(deprecateProfile),
    suggestProfile: verb(suggestProfile),
    create: verb(create),
    recreate: verb(recreate),
    reachability: verb(reachability),
    get: verb(get),
    list: verb(list),
    openPreview: verb(openPreview),
    enterPreview: verb(enterPreview),
    openAccess: verb(openAccess),
    enterAccess: verb(enterAccess),
    standIn: verb(standIn),
    ...insideVerbs(verb),
    receipt: verb(receipt),
    attach: verb(attach),
    detach: verb(detach),
    listAttachments: verb(listAttachments),
    extend: verb(extend),
    pause: verb(pause),
    resume: verb(resume),
    stop: verb(stop),
    metrics: verb(metrics),
    changeNetwork: verb(changeNetwork),
    networkCalls: verb(networkCalls),
    destroy: verb(destroy),
    getBudget: verb(getBudget),
    setBudget: verb(setBudget),
    setKeyBudget: verb(setKeyBudget),
    explain: verb(explain),
    listEvents: verb(listEvents),
    followEvents: verb(followEvents),
    verifyAudit: verb(verifyAudit),
    ...trustVerbs(verb),
    createWebhook: verb(createWebhook),
    listWebhooks: verb(listWebhooks),
    deleteWebhook: verb(deleteWebhook),
    census: verb(census),
    listStored: verb(listStored),
    prune: verb(prune),
    doctor: verb(() => house.registry.doctor()),
  };
}

/** A commit that most lives of a core never need. */
function claimedWhenAsked(store: Store, key: string, make: () => string): () => Promise<string> {
  let claimed: Promise<string> | undefined;
  return () => {
    claimed ??= store.claimMeta(key, make());
    return claimed;
  };
}

const HOLD_SLICE_MS = 3_600_000;
const ORPHAN_GRACE_MS = 900_000;
const ASK_PATIENCE_MS = 120_000;

/** Secrets, volumes, and what waits for somebody's word. */
function trustVerbs(verb: ReturnType<typeof onlyOurErrors>) {
  return {
    setSecret: verb(setSecret),
    listSecrets: verb(listSecrets),
    rotateSecret: verb(rotateSecret),
    grantSecret: verb(grantSecret),
    revokeSecret: verb(revokeSecret),
    deleteSecret: verb(deleteSecret),
    createVolume: verb(createVolume),
    listVolumes: verb(listVolumes),
    getVolume: verb(getVolume),
    deleteVolume: verb(deleteVolume),
    openVolume: verb(openVolume),
    listApprovals: verb(listApprovals),
    getApproval: verb(getApproval),
    decideApproval: verb(decideApproval),
    elevate: verb(elevate),
    endElevations: verb(endElevations),
  };
}

/** What happens inside a sandbox, and with what it works on. */
function insideVerbs(verb: ReturnType<typeof onlyOurErrors>) {
  return {
    exec: verb(exec),
    attachProcess: verb(attachProcess),
    ps: verb(ps),
    resize: verb(resize),
    dial: verb(dial),
    files: verb(files),
    diff: verb(diff),
    apply: verb(apply),
    rollback: verb(rollback),
    sync: verb(sync),
    takeSnapshot: verb(takeSnapshot),
    fork: verb(fork),
    listSnapshots: verb(listSnapshots),
    deleteSnapshot: verb(deleteSnapshot),
    exportSnapshot: verb(exportSnapshot),
    importSnapshot: verb(importSnapshot),
    listImages: verb(listImages),
    pullImage: verb(pullImage),
    importImage: verb(importImage),
    removeImage: verb(removeImage),
    pruneImages: verb(pruneImages),
  };
}

/** Gives a verb its house; whatever it throws leaves as one of ours. */
function onlyOurErrors(house: House) {
  return <Arguments extends unknown[], Result>(
    verb: (house: House, ...given: Arguments) => Promise<Result>,
  ) =>
    async (...given: Arguments): Promise<Result> => {
      try {
        return await verb(house, ...given);
      } catch (thrown) {
        const error = SandboxerError.from(thrown);
        recordIfDenied(house.denials, verb.name, given, error);
        throw error;
      }
    };
}
