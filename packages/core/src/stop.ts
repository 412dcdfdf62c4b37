import type { Principal, Sandbox } from "@sandboxer/contract";
import { refuseGuest } from "./attachments/acting.ts";
import type { House } from "./house.ts";
import { putDown, type StopOptions } from "./lifecycle/rest.ts";
import { authorize } from "./policy/authorize.ts";
import { locate } from "./reach.ts";

export async function stop(
  house: House,
  principal: Principal,
  idOrName: string,
  options?: StopOptions,
): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.pause");
  const place = await locate(house, principal, "sandbox.pause", idOrName, ["running", "paused"]);
  await refuseGuest(house, principal, place.sandbox);
  return putDown(house, place, { principalId: principal.id }, options);
}
