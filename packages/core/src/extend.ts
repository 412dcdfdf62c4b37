import {
  type ExtendBody,
  extendBodySchema,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import { needApprovalOfAll } from "./approvals/need.ts";
import { refuseGuest } from "./attachments/acting.ts";
import type { House } from "./house.ts";
import { stopsAtEnd } from "./lifecycle/rest.ts";
import { isStopped } from "./lifecycle/stopped.ts";
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
  return inTurn(house, sandbox.id, () => move(house, principal, sandbox.id, ttlMs));
}

async function move(house: House, principal: Principal, sandboxId: string, ttlMs: number): Promise<Sandbox> {
  const place = await locate(house, principal, "sandbox.extend", sandboxId, ["running", "paused"]);
  const { startedAtMs, expiresAtMs: formerEndMs } = place.sandbox;
  const atMs = house.clock.nowMs();
  const expiresAtMs = atMs + ttlMs;
  const isNearer = formerEndMs !== undefined && expiresAtMs < formerEndMs;
  if (isNearer && isStopped(place.sandbox)) throw keptLonger(place.sandbox, formerEndMs);
  authorizeLifetime(principal.chain, expiresAtMs - (startedAtMs ?? atMs));
  await permit(house, principal, place.sandbox, { ttlMs, isNearer });

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

/** Where the end takes the files too, to bring it nearer is to destroy: it needs the same word. */
async function permit(
  house: House,
  principal: Principal,
  sandbox: Sandbox,
  { ttlMs, isNearer }: { ttlMs: number; isNearer: boolean },
): Promise<void> {
  const destroys = isNearer && !stopsAtEnd(sandbox);
  const operations = ["sandbox.extend", ...(destroys ? ["sandbox.destroy" as const] : [])] as const;
  await needApprovalOfAll(house, principal, operations, { sandbox, spec: sandbox.spec, said: { ttlMs } });
}

/** What is stopped is destroyed at its end, and nobody who asks for more time asks for that. */
function keptLonger({ id, name }: Sandbox, untilMs: number): SandboxerError {
  const until = new Date(untilMs).toISOString();
  return new SandboxerError("invalid_state", `it is stopped, and its files are kept until ${until}`, {
    hint: `Start it first (\`sandboxer start ${name ?? id}\`) to give it time to run; to end it, destroy it.`,
  });
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
