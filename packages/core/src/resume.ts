import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { askOf, locate } from "./reach.ts";

/** Killed between the start and the commit, reconcile writes down what it finds. */
export async function resume(house: House, principal: Principal, idOrName: string): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.pause");
  const place = await locate(house, principal, "sandbox.pause", idOrName, ["running", "paused"]);
  const { sandbox, extension } = place;
  if (sandbox.state === "running") return sandbox;
  const { pause: facet } = extension;
  if (!facet) throw new SandboxerError("unsupported", `${extension.manifest.id} cannot resume a sandbox`);
  await askOf(house, place, (_, ref, context) => facet.resume(ref, context));
  house.pass("resume.started");
  const running = await house.store.resume({
    sandboxId: sandbox.id,
    atMs: house.clock.nowMs(),
    principalId: principal.id,
  });
  house.pass("resume.written");
  return (
    running ?? locate(house, principal, "sandbox.pause", idOrName, ["running"]).then((now) => now.sandbox)
  );
}
