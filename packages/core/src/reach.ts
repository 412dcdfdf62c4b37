import {
  type Box,
  isOver,
  type Operation,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { recordGone } from "./lifecycle/gone.ts";
import { authorizeUse } from "./policy/authorize.ts";
import { ask, callContext } from "./registry/registry.ts";
import type { Viewer } from "./store/store.ts";

const ATTACH_PATIENCE_MS = 30_000;

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
  const sandbox = await findSandbox(house, principal, idOrName);
  const { state, location } = sandbox;
  if (isOver(state) || state === "destroying") throw gone(sandbox);
  if (state !== "running" || !location) {
    throw new SandboxerError("invalid_state", `the sandbox is ${state}`, { details: { state } });
  }
  const extension = house.registry.get(location.extensionId);
  const { class: isolation } = extension.manifest.isolation;
  authorizeUse(principal.chain, operation, { extensionId: location.extensionId, isolation });

  const box = await house.boxes.open(sandbox.id, async () => {
    try {
      return await ask(extension, () =>
        extension.attach(location.ref, callContext(house.installationId, ATTACH_PATIENCE_MS)),
      );
    } catch (error) {
      if (!SandboxerError.is(error) || error.code !== "not_found") throw error;
      throw gone(await recordGone(house, sandbox));
    }
  });
  return { sandbox, box };
}

function gone({ id, state, reason }: Sandbox): SandboxerError {
  return new SandboxerError("sandbox_gone", `the sandbox is ${state}${reason ? `: ${reason}` : ""}`, {
    details: { sandboxId: id, state },
  });
}
