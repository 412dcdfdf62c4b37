import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { idOf } from "../address.ts";
import { noSandbox } from "../failure.ts";

/** A sandbox, also one that is over. */
export async function findAny(core: Core, principal: Principal, asked: string): Promise<Sandbox> {
  const id = idOf(asked);
  const sandbox = await core.get(principal, id).catch((error) => {
    if (SandboxerError.from(error).code === "not_found") throw noSandbox(asked);
    throw error;
  });
  if (sandbox.id === id) return sandbox;
  throw noSandbox(asked);
}

/** A sandbox that lives; all others are told as E2B tells of what never was. */
export async function findLiving(core: Core, principal: Principal, asked: string): Promise<Sandbox> {
  const sandbox = await findAny(core, principal, asked);
  if (LIVING.includes(sandbox.state)) return sandbox;
  throw noSandbox(asked);
}

/** One that runs: what sleeps is as absent to what E2B asks of running ones alone. */
export async function findRunning(core: Core, principal: Principal, asked: string): Promise<Sandbox> {
  const sandbox = await findLiving(core, principal, asked);
  if (sandbox.state === "running") return sandbox;
  throw noSandbox(asked);
}

export const LIVING: readonly string[] = ["running", "paused"];
