import type { Files, Principal } from "@sandboxer/contract";
import { actingIn } from "./attachments/acting.ts";
import { filesAs, readOnlyFiles, userOf } from "./attachments/confine.ts";
import type { House } from "./house.ts";
import { leasedFiles } from "./leased.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

export async function files(house: House, principal: Principal, idOrName: string): Promise<Files> {
  authorize(principal.chain, "sandbox.files");
  const { sandbox, box } = await reach(house, principal, "sandbox.files", idOrName);
  const attachment = await actingIn(house, principal, sandbox);
  const own = await userOf(attachment, box);
  const confined = attachment.access === "read-only" ? readOnlyFiles : filesAs;
  const files = own === undefined ? box.files : confined(box.files, own);
  return leasedFiles(house.leases, principal, box, files);
}
