import type { Principal, ProcessInfo } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

/** Arguments may hold secrets, so that whoever may not run anything sees none. */
export async function ps(house: House, principal: Principal, idOrName: string): Promise<ProcessInfo[]> {
  authorize(principal.chain, "sandbox.exec");
  const { box } = await reach(house, principal, "sandbox.exec", idOrName);
  return box.processes();
}
