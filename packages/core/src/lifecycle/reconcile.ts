import {
  type Applied,
  isOver,
  type ListedBox,
  type Location,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import { recordApplied } from "../apply.ts";
import { settleForsaken } from "../attachments/forsaken.ts";
import type { House } from "../house.ts";
import { isInstanceGone } from "../instance.ts";
import { protectAgain } from "../network/protect.ts";
import { ask, callContext } from "../registry/registry.ts";
import { removeOutdated } from "../snapshots/retention.ts";
import type { StandingSandbox, UnfinishedSandbox } from "../store/store.ts";
import { recordGone } from "./gone.ts";
import { settleOrphan } from "./orphan.ts";
import { lieDown } from "./rest.ts";
import { rememberStanding, standsAsBefore } from "./standing.ts";
import { isStopped } from "./stopped.ts";
import { teardown } from "./teardown.ts";
import { usageWritten } from "./usage-written.ts";

const EVERY_MS = 60_000;
/** Gathers what breaks together into one round. */
const SOON_MS = 50;
const PROVISIONING_AT_MOST_MS = 60_000;
const SETUP_AT_MOST_MS = 3_600_000;
const PATIENCE_MS = 30_000;

/** What each extension that answered holds of ours. One that did not answer is not in it. */
type Found = ReadonlyMap<string, ReadonlyMap<string, ListedBox>>;

/**
 * Compares what every extension holds with what the store says, and puts right what a crash left
 * behind. The rows are read before the boxes: a row whose box is missing from a later, complete
 * list has lost it, while a box that is newer than the rows is looked up again by its id.
 */
export async function reconcile(house: House): Promise<void> {
  const rows = await house.store.listStanding();
  const found = await listBoxes(house);
  const heard = (what: string, work: Promise<unknown>) =>
    work.catch((error) => house.report(`reconciling ${what}`, SandboxerError.from(error)));
  for (const row of rows) {
    const box = found.get(row.extensionId ?? "")?.get(row.id);
    if (box?.applied) await heard(row.id, tellApplied(house, row.id, box.applied));
    if (!standsAsBefore(house, row, box)) await heard(row.id, settle(house, row, found));
  }
  // What runs where its row says was settled with its row.
  const places = new Map(rows.map(({ id, extensionId }) => [id, extensionId]));
  for (const id of house.standing.keys()) if (!places.has(id)) house.standing.delete(id);
  for (const [extensionId, boxes] of found) {
    for (const box of boxes.values()) {
      if (places.get(box.sandboxId) === extensionId) continue;
      await heard(box.sandboxId, settleBox(house, extensionId, box));
    }
  }
  await settleForsaken(house);
  await removeOutdated(house);
  await house.store.expireApprovals(house.clock.nowMs());
}

/** Again and again, since a box can also die while the gateway lives, and its meter must stop. */
export function keepReconciled(house: House): { soon(): void; stop(): Promise<void> } {
  let round = Promise.resolve();
  let later: NodeJS.Timeout | undefined;
  let sooner: NodeJS.Timeout | undefined;
  let stopped = false;
  const run = () => {
    clearTimeout(later);
    sooner = undefined;
    round = round
      .then(() => reconcile(house))
      .catch((error) => house.report("reconciling", SandboxerError.from(error)))
      .finally(() => stopped || schedule());
  };
  const schedule = () => {
    clearTimeout(later);
    later = setTimeout(run, EVERY_MS).unref();
  };
  schedule();
  return {
    soon() {
      if (!stopped) sooner ??= setTimeout(run, SOON_MS).unref();
    },
    stop() {
      stopped = true;
      clearTimeout(later);
      clearTimeout(sooner);
      return round;
    },
  };
}

async function listBoxes(house: House): Promise<Found> {
  const found = new Map<string, Map<string, ListedBox>>();
  const offers = await house.registry.offers();
  // One that is not safe enough for more is still asked about what it has.
  const available = offers.filter(({ probe }) => probe.status === "offer" || probe.unsafe);
  await Promise.all(
    available.map(async ({ manifest: { id } }) => {
      try {
        const boxes = await ask(
          house.registry.get(id),
          (extension) => extension.list(callContext(house.installationId, PATIENCE_MS)),
          PATIENCE_MS,
        );
        const ours = boxes.filter((box) => box.installationId === house.installationId);
        found.set(id, new Map(ours.map((box) => [box.sandboxId, box])));
      } catch (error) {
        house.report(`listing what ${id} holds`, SandboxerError.from(error));
      }
    }),
  );
  return found;
}

async function tellApplied(house: House, id: string, applies: readonly Applied[]): Promise<void> {
  const sandbox = await house.store.getUnfinished(id);
  if (!sandbox) return;
  for (const applied of applies) await recordApplied(house, sandbox, applied);
}

/** The whole row is read only now, and may be newer than what was listed: it is judged as it is. */
async function settle(house: House, listed: StandingSandbox, found: Found): Promise<void> {
  const row = await house.store.getUnfinished(listed.id);
  if (!row) return;
  // What moved since the boxes were listed is for the next round.
  const { state, pauseDepth, extensionId } = listed;
  const now = row.location?.extensionId;
  if (row.state !== state || row.pauseDepth !== pauseDepth || now !== extensionId) return;
  await settleRow(house, row, found);
  rememberStanding(house, listed, found.get(extensionId ?? "")?.get(listed.id), row);
}

async function settleRow(house: House, row: UnfinishedSandbox, found: Found): Promise<void> {
  switch (row.state) {
    case "destroying":
      // The wish is not used: the row remembers what it was to become.
      await teardown(house, row.id, { ending: "destroyed", reason: "" });
      return;
    case "running":
    case "paused": {
      const boxes = found.get(row.location?.extensionId ?? "");
      const box = boxes?.get(row.id);
      if (boxes && !box) return void (await recordGone(house, row));
      // Its backend counted on while we were away; the wall clock, which wrote the row, may have been set.
      const expiresAtMs = box?.expiresAtMs ?? row.expiresAtMs;
      if (expiresAtMs !== undefined) house.reaper.watch(row.id, expiresAtMs);
      if (house.turns.has(row.id)) return;
      if (box?.stopped ?? isStopped(row)) return settleStop(house, row, expiresAtMs);
      if (house.resident && row.location) guardAgain(house, row, row.location);
      house.idle.watch(row.id, row.spec.idleMs);
      if (row.spec.audit && !house.auditor.watches(row.id)) {
        house.auditor.watch(row, await usageWritten(house, row));
      }
      return isStopped(row) ? settleStart(house, row, expiresAtMs) : settlePause(house, row, box?.paused);
    }
    default:
      await settleUnborn(house, row);
  }
}

/** Beside the round: one that is paused answers the guard only when it goes on. */
function guardAgain(house: House, row: Sandbox, location: Location): void {
  protectAgain(house, row, location).catch((error) =>
    house.report(`guarding ${row.id}`, SandboxerError.from(error)),
  );
}

/** Its processes are over, by somebody's wish or with its machine, and its files are kept. */
async function settleStop(house: House, row: Sandbox, expiresAtMs: number | undefined): Promise<void> {
  if (isStopped(row) || expiresAtMs === undefined) return;
  const reason = "its first process ended; its files are kept";
  await house.store.stop({ sandboxId: row.id, atMs: house.clock.nowMs(), expiresAtMs, reason });
  lieDown(house, row.id, expiresAtMs);
}

async function settleStart(house: House, row: Sandbox, expiresAtMs = 0): Promise<void> {
  await house.store.start({ sandboxId: row.id, atMs: house.clock.nowMs(), expiresAtMs });
}

/** The row follows the box: a crash came between what was done and its commit. */
async function settlePause(house: House, row: Sandbox, paused: boolean | undefined): Promise<void> {
  if (paused === undefined || paused === (row.state === "paused")) return;
  const change = { sandboxId: row.id, atMs: house.clock.nowMs() };
  await (paused ? house.store.pause(change) : house.store.resume(change));
}

/**
 * A create that nobody waits for any more has failed. A slow one that settles after all loses to
 * this commit or wins against it; what it made is judged below, by what the row says then.
 */
async function settleUnborn(house: House, row: UnfinishedSandbox): Promise<void> {
  const { id: sandboxId, creator, createdAtMs } = row;
  if (house.creating.has(sandboxId)) return;
  const atMs = house.clock.nowMs();
  const abandoned = creator === house.instance || isInstanceGone(creator);
  const patienceMs = row.spec.setup ? SETUP_AT_MOST_MS : PROVISIONING_AT_MOST_MS;
  if (!abandoned && atMs - createdAtMs < patienceMs) return;
  const reason = "the gateway stopped while it was being created";
  await house.store.failCreate({ sandboxId, atMs, reason });
}

async function settleBox(house: House, extensionId: string, box: ListedBox): Promise<void> {
  if (house.creating.has(box.sandboxId)) return;
  const row = await house.store.getSandboxById(box.sandboxId);
  if (!row) return settleOrphan(house, extensionId, box);
  // Left by a try that failed, or by an end that could not be finished; the row says it is over.
  const elsewhere = row.location !== undefined && row.location.extensionId !== extensionId;
  if (!isOver(row.state) && !elsewhere) return;
  await ask(
    house.registry.get(extensionId),
    (extension) => extension.destroy(box.ref, callContext(house.installationId, PATIENCE_MS)),
    PATIENCE_MS,
  );
}
