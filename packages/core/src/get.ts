import type { Principal, Sandbox } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { findSandbox } from "./reach.ts";

export async function get(house: House, principal: Principal, idOrName: string): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.read");
  return findSandbox(house, principal, idOrName);
}
