import {
  type Box,
  type CallContext,
  type Extension,
  isOver,
  type Operation,
  type Principal,
  type Sandbox,
  SandboxerError,
  type SandboxState,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { recordGone } from "./lifecycle/gone.ts";
import { protect } from "./network/protect.ts";
import { authorizeUse } from "./policy/authorize.ts";
import { ask, callContext } from "./registry/registry.ts";
import type { Viewer } from "./store/store.ts";

const PATIENCE_MS = 30_000;

/** Somebody else's sandbox is answered exactly as one that never was. */
export async function findSandbox(house: House, principal: Principal, idOrName: string): Promise<Sandbox> {
  const sandbox = await house.store.getSandbox(principal.orgId, idOrName, viewerOf(principal));
  if (sandbox) return sandbox;
  throw new SandboxerError("not_found", `no sandbox ${idOrName}`);
}

export function viewerOf({ id: principalId, team }: Principal): Viewer {
  return { principalId, team };
}

/** The way to a running sandbox, for what happens inside it. */
export async function reach(
  house: House,
  principal: Principal,
  operation: Operation,
  idOrName: string,
): Promise<{ sandbox: Sandbox; box: Box }> {
  const place = await locate(house, principal, operation, idOrName, ["running"]);
  const { sandbox } = place;
  const box = await house.boxes.open(sandbox.id, () =>
    askOf(house, place, (extension, ref, context) => extension.attach(ref, context)),
  );
  // Whoever uses a sandbox after its gateway went watches over it; what is guarded already stays.
  if (sandbox.location) await protect(house, sandbox, sandbox.location, async () => box);
  return { sandbox, box };
}

export interface Place {
  readonly sandbox: Sandbox;
  readonly extension: Extension;
  readonly ref: string;
}

/** A living sandbox in one of these states, and where it is. */
export async function locate(
  house: House,
  principal: Principal,
  operation: Operation,
  idOrName: string,
  states: readonly SandboxState[],
): Promise<Place> {
  const sandbox = await findSandbox(house, principal, idOrName);
  const { state, location } = sandbox;
  if (isOver(state) || state === "destroying") throw gone(sandbox);
  if (!states.includes(state) || !location) {
    throw new SandboxerError("invalid_state", `the sandbox is ${state}`, { details: { state } });
  }
  const extension = house.registry.get(location.extensionId);
  const { class: isolation } = extension.manifest.isolation;
  authorizeUse(principal.chain, operation, { extensionId: location.extensionId, isolation });
  return { sandbox, extension, ref: location.ref };
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

function gone({ id, state, reason }: Sandbox): SandboxerError {
  return new SandboxerError("sandbox_gone", `the sandbox is ${state}${reason ? `: ${reason}` : ""}`, {
    details: { sandboxId: id, state },
  });
}
