import type { Attachment, Principal, Sandbox } from "@sandboxer/contract";
import { needApproval } from "../approvals/need.ts";
import type { House } from "../house.ts";
import { implicitAttachment } from "./implicit.ts";

/**
 * Before somebody is in a sandbox for the first time, by whatever way: by its label, by using it, by
 * taking what is in it. Where attaching is marked somebody else allows it, and whoever is in it
 * already has been let in.
 */
export async function askToJoin(
  house: House,
  principal: Principal,
  sandbox: Sandbox,
  told: Record<string, unknown> = {},
): Promise<void> {
  const { spec } = sandbox;
  if (!spec.approvals?.includes("sandbox.attach")) return;
  if ((await house.store.attachmentsOf(sandbox.id, principal.id)).length > 0) return;
  const exact = { verb: "join" };
  await needApproval(house, principal, "sandbox.attach", {
    sandbox,
    spec,
    said: { ...exact, ...told },
    exact,
  });
  // A yes is used up by now: from here on it is in.
  await join(house, principal, sandbox);
}

/** Its use of the sandbox, with as much as its key may. */
export async function join(house: House, principal: Principal, { id }: Sandbox): Promise<Attachment> {
  return house.store.ensureAttachment(implicitAttachment(principal, id, house.clock.nowMs()));
}
