import {
  type ExtendBody,
  extendBodySchema,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import { needApproval } from "./approvals/need.ts";
import { refuseGuest } from "./attachments/acting.ts";
import type { House } from "./house.ts";
import { parse } from "./parse.ts";
import { askOf } from "./place.ts";
import { authorize, authorizeLifetime } from "./policy/authorize.ts";
import { findSandbox, locate } from "./reach.ts";
import { inTurn } from "./turns.ts";

/** Moves the end to `ttlMs` from now, later or earlier: first the money, then the box, then the row. */
export async function extend(
  house: House,
  principal: Principal,
  idOrName: string,
  body: ExtendBody,
): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.extend");
  const { ttlMs } = parse(extendBodySchema, body);
  const sandbox = await findSandbox(house, principal, idOrName);
  await refuseGuest(house, principal, sandbox);
  const { id, spec } = sandbox;
  await needApproval(house, principal, "sandbox.extend", { sandbox, spec, said: { ttlMs } });
  return inTurn(house, id, () => move(house, principal, id, ttlMs));
}

async function move(house: House, principal: Principal, sandboxId: string, ttlMs: number): Promise<Sandbox> {
  const place = await locate(house, principal, "sandbox.extend", sandboxId, ["running", "paused"]);
  const { startedAtMs, expiresAtMs: formerEndMs } = place.sandbox;
  const atMs = house.clock.nowMs();
  const expiresAtMs = atMs + ttlMs;
  authorizeLifetime(principal.chain, expiresAtMs - (startedAtMs ?? atMs));

  await cover(house, sandboxId, expiresAtMs);
  try {
    await askOf(house, place, (extension, ref, context) => extension.extend(ref, ttlMs, context));
  } catch (error) {
    await cover(house, sandboxId, formerEndMs ?? atMs).catch(() => {});
    throw error;
  }
  const moved = await house.store.moveExpiry({ sandboxId, expiresAtMs, atMs, principalId: principal.id });
  if (!moved) throw gone();
  house.reaper.forget(sandboxId);
  house.reaper.watch(sandboxId, expiresAtMs);
  return moved;
}

async function cover(house: House, sandboxId: string, endMs: number): Promise<void> {
  const atMs = house.clock.nowMs();
  const untilMs = Math.min(endMs, atMs + house.holdSliceMs);
  const covered = await house.store.coverSandbox({ sandboxId, atMs, untilMs });
  if (!covered) throw gone();
  if (covered.refused) throw new SandboxerError("budget_exceeded", covered.refused);
}

function gone(): SandboxerError {
  return new SandboxerError("sandbox_gone", "it ended meanwhile");
}
