import {
  type Box,
  isOver,
  type Operation,
  type Principal,
  type Sandbox,
  SandboxerError,
  type SandboxState,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { isStopped } from "./lifecycle/stopped.ts";
import { protect } from "./network/protect.ts";
import { askOf, gone, type Place } from "./place.ts";
import { authorizeUse } from "./policy/authorize.ts";
import type { Viewer } from "./store/store.ts";

/** Somebody else's sandbox is answered exactly as one that never was. */
export async function findSandbox(house: House, principal: Principal, idOrName: string): Promise<Sandbox> {
  const sandbox = await house.store.getSandbox(principal.orgId, idOrName, viewerOf(principal));
  if (sandbox) return sandbox;
  if (await house.store.getSandboxById(idOrName)) {
    // Told to nobody who asks, but written down.
    house.denials.record(principal, {
      verb: "find",
      code: "not_found",
      rule: "visibility",
      target: idOrName,
    });
  }
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
  house.idle.use(sandbox.id);
  const box = await house.boxes.open(sandbox.id, () =>
    askOf(house, place, (extension, ref, context) => extension.attach(ref, context)),
  );
  // Whoever uses a sandbox after its gateway went watches over it; what is guarded already stays.
  if (sandbox.location) await protect(house, sandbox, sandbox.location, async () => box);
  return { sandbox, box };
}

/** What is put down does not come back by waiting. */
export function elsewise(sandbox: Sandbox): SandboxerError {
  const { id, name = id, state } = sandbox;
  const [word, verb] = isStopped(sandbox) ? ["stopped", "start"] : [state, "resume"];
  const hint = state === "paused" ? { hint: `\`sandboxer ${verb} ${name}\` brings it back.` } : {};
  return new SandboxerError("invalid_state", `the sandbox is ${word}`, { details: { state }, ...hint });
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
    throw elsewise(sandbox);
  }
  const extension = house.registry.get(location.extensionId);
  const { class: isolation } = extension.manifest.isolation;
  authorizeUse(principal.chain, operation, { extensionId: location.extensionId, isolation });
  return { sandbox, extension, ref: location.ref };
}
