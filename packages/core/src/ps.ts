import type { Principal, ProcessInfo } from "@sandboxer/contract";
import { actingIn } from "./attachments/acting.ts";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

/**
 * Arguments may hold secrets, so that whoever may not run anything sees none, and an
 * attachment with a user of its own only its own.
 */
export async function ps(house: House, principal: Principal, idOrName: string): Promise<ProcessInfo[]> {
  authorize(principal.chain, "sandbox.exec");
  const { sandbox, box } = await reach(house, principal, "sandbox.exec", idOrName);
  const { id, uid } = await actingIn(house, principal, sandbox);
  const all = await box.processes();
  return uid === undefined ? all : all.filter(({ attachmentId }) => attachmentId === id);
}
