import type { Files, Principal } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { leasedFiles } from "./leased.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

export async function files(house: House, principal: Principal, idOrName: string): Promise<Files> {
  authorize(principal.chain, "sandbox.files");
  const { box } = await reach(house, principal, "sandbox.files", idOrName);
  return leasedFiles(house.leases, principal, box);
}
