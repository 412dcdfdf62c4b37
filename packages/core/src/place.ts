import { type CallContext, type Extension, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { recordGone } from "./lifecycle/gone.ts";
import { ask, callContext } from "./registry/registry.ts";

const PATIENCE_MS = 30_000;

/** Where a sandbox is. */
export interface Place {
  readonly sandbox: Sandbox;
  readonly extension: Extension;
  readonly ref: string;
}

/** For the house itself; nowhere when no backend has taken it. */
export function placeOf(house: House, sandbox: Sandbox): Place | undefined {
  const { location } = sandbox;
  return location && { sandbox, extension: house.registry.get(location.extensionId), ref: location.ref };
}

/** Asks the extension about one box. That it does not know the box is a fact to record. */
export async function askOf<T>(
  house: House,
  { sandbox, extension, ref }: Place,
  call: (extension: Extension, ref: string, context: CallContext) => Promise<T>,
): Promise<T> {
  try {
    return await ask(extension, () => call(extension, ref, callContext(house.installationId, PATIENCE_MS)));
  } catch (error) {
    if (!SandboxerError.is(error) || error.code !== "not_found") throw error;
    throw gone(await recordGone(house, sandbox));
  }
}

export function gone({ id, state, reason }: Sandbox): SandboxerError {
  return new SandboxerError("sandbox_gone", `the sandbox is ${state}${reason ? `: ${reason}` : ""}`, {
    details: { sandboxId: id, state },
  });
}
