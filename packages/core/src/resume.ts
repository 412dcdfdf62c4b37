import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import { refuseGuest } from "./attachments/acting.ts";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { askOf, locate, type Place } from "./reach.ts";

export async function resume(house: House, principal: Principal, idOrName: string): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.pause");
  const place = await locate(house, principal, "sandbox.pause", idOrName, ["running", "paused"]);
  await refuseGuest(house, principal, place.sandbox);
  if (place.sandbox.state === "running") return place.sandbox;
  const running = await wake(house, principal.id, place);
  return (
    running ?? locate(house, principal, "sandbox.pause", idOrName, ["running"]).then((now) => now.sandbox)
  );
}

/** Killed between the start and the commit, reconcile writes down what it finds. */
export async function wake(house: House, principalId: string, place: Place): Promise<Sandbox | undefined> {
  const { sandbox, extension } = place;
  const { pause: facet } = extension;
  if (!facet) throw new SandboxerError("unsupported", `${extension.manifest.id} cannot resume a sandbox`);
  await askOf(house, place, (_, ref, context) => facet.resume(ref, context));
  house.pass("resume.started");
  const running = await house.store.resume({ sandboxId: sandbox.id, atMs: house.clock.nowMs(), principalId });
  house.pass("resume.written");
  return running;
}
