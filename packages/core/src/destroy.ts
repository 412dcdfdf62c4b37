import { isOver, type Principal, type Sandbox } from "@sandboxer/contract";
import { needApproval } from "./approvals/need.ts";
import { refuseGuest } from "./attachments/acting.ts";
import type { House } from "./house.ts";
import { teardown } from "./lifecycle/teardown.ts";
import { authorize } from "./policy/authorize.ts";
import { findSandbox } from "./reach.ts";

/** Of what is over, succeeds: the caller has what was wanted. */
export async function destroy(house: House, principal: Principal, idOrName: string): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.destroy");
  const sandbox = await findSandbox(house, principal, idOrName);
  await refuseGuest(house, principal, sandbox);
  if (isOver(sandbox.state)) return sandbox;
  await needApproval(house, principal, "sandbox.destroy", { sandbox, spec: sandbox.spec, said: {} });
  return teardown(house, sandbox.id, {
    ending: "destroyed",
    reason: "asked for",
    principalId: principal.id,
  });
}
