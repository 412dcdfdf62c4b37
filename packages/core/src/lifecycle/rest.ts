import { DEFAULT_KEEP_MS, type Location, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { protect } from "../network/protect.ts";
import { askOf, type Place } from "../place.ts";
import { callContext } from "../registry/registry.ts";
import { leaveCheckpoint } from "../snapshots/checkpoint.ts";
import { specOf } from "../try-each.ts";
import { inTurn } from "../turns.ts";
import { current, type Wish } from "./current.ts";
import { isStopped } from "./stopped.ts";

const PATIENCE_MS = 120_000;

export interface StopOptions {
  /** Also of one that is ephemeral the files are kept, until the end that it had. */
  readonly keepsEphemeral?: boolean;
}

/** Whether its end is only the end of its processes. */
export function stopsAtEnd(sandbox: Sandbox): boolean {
  const { persistence, atEnd } = sandbox.spec;
  return persistence !== "ephemeral" && atEnd !== "destroy" && !isStopped(sandbox);
}

/** Ends every process and keeps every file. Killed on the way, reconcile writes down what it finds. */
export function putDown(
  house: House,
  place: Place,
  { principalId, reason, still }: Wish,
  { keepsEphemeral = false }: StopOptions = {},
): Promise<Sandbox> {
  const { extension } = place;
  const { id: sandboxId } = place.sandbox;
  return inTurn(house, sandboxId, async () => {
    const now = await current(house, sandboxId);
    if (isStopped(now) || (still && !(await still()))) return now;
    const { stop: facet } = extension;
    const isEphemeral = now.spec.persistence === "ephemeral";
    if (!facet || (isEphemeral && !keepsEphemeral)) {
      throw new SandboxerError("unsupported", "only what is persistent can be stopped and kept", {
        hint: "Create it with persistence persistent; `pause` keeps everything in memory.",
      });
    }
    await leaveCheckpoint(house, place, now);
    await house.auditor.note(now);
    house.uses.end(sandboxId);
    await house.reaching.tell(sandboxId);
    await house.journal.flush();
    const context = callContext(house.installationId, PATIENCE_MS);
    const keepMs = isEphemeral ? leftOf(house, now) : undefined;
    await askOf(house, { ...place, sandbox: now }, (_, ref) => facet.stop(ref, context, keepMs));
    house.pass("stop.stopped");
    const atMs = house.clock.nowMs();
    const expiresAtMs = atMs + (keepMs ?? now.spec.keepMs ?? DEFAULT_KEEP_MS);
    const asked = { sandboxId, atMs, expiresAtMs, principalId, ...(reason && { reason }) };
    const stopped = await house.store.stop(asked);
    house.pass("stop.written");
    lieDown(house, sandboxId, expiresAtMs);
    return stopped ?? current(house, sandboxId);
  });
}

/** Nobody is connected to it, guards it or counts its time any more, but for how long it is kept. */
export function lieDown(house: House, sandboxId: string, expiresAtMs: number): void {
  house.boxes.drop(sandboxId);
  house.guard?.forget(sandboxId);
  house.idle.forget(sandboxId);
  house.reaper.forget(sandboxId);
  house.reaper.watch(sandboxId, expiresAtMs);
}

/** A new first process over what was kept. In its turn already. */
export async function getUp(house: House, place: Place, now: Sandbox, wish: Wish): Promise<Sandbox> {
  const { extension } = place;
  const { id: sandboxId, orgId, location, spec } = now;
  const { stop: facet } = extension;
  if (!facet || !location) {
    throw new SandboxerError("unsupported", `${extension.manifest.id} cannot start what was stopped`);
  }
  const isEphemeral = spec.persistence === "ephemeral";
  // What was not made to be stopped has the end that it had.
  const ttlMs = isEphemeral ? leftOf(house, now) : spec.ttlMs;
  const expiresAtMs = house.clock.nowMs() + ttlMs;
  const context = { ...callContext(house.installationId, PATIENCE_MS), sandboxId, orgId };
  const box = await askOf(house, { ...place, sandbox: now }, async () =>
    facet.start({ ...(await specOf(house, now)), ttlMs }, context),
  );
  house.pass("start.started");
  try {
    await protect(house, now, location as Location, async () => box);
    const { principalId, reason } = wish;
    const atMs = house.clock.nowMs();
    const asked = { sandboxId, atMs, expiresAtMs, principalId, ...(reason && { reason }) };
    const started = await house.store.start(asked);
    house.pass("start.written");
    await pay(house, sandboxId, expiresAtMs);
    house.reaper.forget(sandboxId);
    house.reaper.watch(sandboxId, expiresAtMs);
    house.idle.watch(sandboxId, spec.idleMs);
    house.boxes.keep(sandboxId, box);
    return started ?? (await current(house, sandboxId));
  } catch (error) {
    house.guard?.forget(sandboxId);
    box.close();
    const keepMs = isEphemeral ? leftOf(house, now) : undefined;
    const keptUntilMs = house.clock.nowMs() + (keepMs ?? spec.keepMs ?? DEFAULT_KEEP_MS);
    await facet.stop(place.ref, callContext(house.installationId, PATIENCE_MS), keepMs);
    await house.store.stop({ sandboxId, atMs: house.clock.nowMs(), expiresAtMs: keptUntilMs });
    throw error;
  }
}

/** Until the end that it has; never nothing, which an extension would take for no end at all. */
function leftOf(house: House, { expiresAtMs = 0 }: Sandbox): number {
  return Math.max(1_000, expiresAtMs - house.clock.nowMs());
}

async function pay(house: House, sandboxId: string, expiresAtMs: number): Promise<void> {
  const atMs = house.clock.nowMs();
  const untilMs = Math.min(expiresAtMs, atMs + house.holdSliceMs);
  const covered = await house.store.coverSandbox({ sandboxId, atMs, untilMs });
  if (covered?.refused) throw new SandboxerError("budget_exceeded", covered.refused);
}
