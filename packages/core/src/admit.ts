import type { Operation, Principal } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { findSandbox } from "./reach.ts";

/** For a way in that says yes before it hears what exactly is wanted. Reaching the sandbox asks again. */
export async function admit(
  house: House,
  principal: Principal,
  operation: Operation,
  idOrName: string,
): Promise<void> {
  authorize(principal.chain, operation);
  await findSandbox(house, principal, idOrName);
}
