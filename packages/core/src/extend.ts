import {
  type ExtendBody,
  extendBodySchema,
  isOver,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { parse } from "./parse.ts";
import { authorize, authorizeLifetime, authorizeUse } from "./policy/authorize.ts";
import { findSandbox } from "./reach.ts";
import { ask, callContext } from "./registry/registry.ts";

const EXTEND_PATIENCE_MS = 30_000;

/** Moves the end to `ttlMs` from now, later or earlier: first the money, then the box, then the row. */
export async function extend(
  house: House,
  principal: Principal,
  idOrName: string,
  body: ExtendBody,
): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.extend");
  const { ttlMs } = parse(extendBodySchema, body);
  const { id } = await findSandbox(house, principal, idOrName);
  const before = house.extensions.get(id) ?? Promise.resolve();
  // One after the other, so that the last to ask is the last to be heard by the box and by the row.
  const moved = before.catch(() => {}).then(() => move(house, principal, id, ttlMs));
  house.extensions.set(id, moved);
  try {
    return await moved;
  } finally {
    if (house.extensions.get(id) === moved) house.extensions.delete(id);
  }
}

async function move(house: House, principal: Principal, sandboxId: string, ttlMs: number): Promise<Sandbox> {
  const sandbox = await findSandbox(house, principal, sandboxId);
  const { state, location, startedAtMs, expiresAtMs: formerEndMs } = sandbox;
  if (isOver(state)) throw gone(state);
  if ((state !== "running" && state !== "paused") || !location || !formerEndMs) {
    throw new SandboxerError("invalid_state", `the sandbox is ${state}`, { details: { state } });
  }
  const extension = house.registry.get(location.extensionId);
  const { class: isolation } = extension.manifest.isolation;
  authorizeUse(principal.chain, "sandbox.extend", { extensionId: location.extensionId, isolation });
  const atMs = house.clock.nowMs();
  const expiresAtMs = atMs + ttlMs;
  authorizeLifetime(principal.chain, expiresAtMs - (startedAtMs ?? atMs));

  await cover(house, sandboxId, expiresAtMs);
  try {
    await ask(extension, () =>
      extension.extend(location.ref, ttlMs, callContext(house.installationId, EXTEND_PATIENCE_MS)),
    );
  } catch (error) {
    await cover(house, sandboxId, formerEndMs).catch(() => {});
    throw error;
  }
  const moved = await house.store.moveExpiry({ sandboxId, expiresAtMs, atMs, principalId: principal.id });
  if (!moved) throw gone("over");
  house.reaper.forget(sandboxId);
  house.reaper.watch(sandboxId, expiresAtMs);
  return moved;
}

async function cover(house: House, sandboxId: string, endMs: number): Promise<void> {
  const atMs = house.clock.nowMs();
  const untilMs = Math.min(endMs, atMs + house.holdSliceMs);
  const covered = await house.store.coverSandbox({ sandboxId, atMs, untilMs });
  if (!covered) throw gone("over");
  if (covered.refused) throw new SandboxerError("budget_exceeded", covered.refused);
}

function gone(state: string): SandboxerError {
  return new SandboxerError("sandbox_gone", `the sandbox is ${state}`, { details: { state } });
}
