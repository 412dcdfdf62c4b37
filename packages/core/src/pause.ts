import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import { refuseGuest } from "./attachments/acting.ts";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { askOf, locate } from "./reach.ts";

/** Killed between the stop and the commit, reconcile writes down what it finds. */
export async function pause(house: House, principal: Principal, idOrName: string): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.pause");
  const place = await locate(house, principal, "sandbox.pause", idOrName, ["running", "paused"]);
  const { sandbox, extension } = place;
  await refuseGuest(house, principal, sandbox);
  if (sandbox.state === "paused") return sandbox;
  const { pause: facet } = extension;
  if (!facet) throw new SandboxerError("unsupported", `${extension.manifest.id} cannot pause a sandbox`);
  await askOf(house, place, (_, ref, context) => facet.pause(ref, context));
  house.pass("pause.stopped");
  const paused = await house.store.pause({
    sandboxId: sandbox.id,
    atMs: house.clock.nowMs(),
    principalId: principal.id,
  });
  house.pass("pause.written");
  return paused ?? locate(house, principal, "sandbox.pause", idOrName, ["paused"]).then((now) => now.sandbox);
}
