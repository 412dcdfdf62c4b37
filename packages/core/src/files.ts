import type { Files, Principal } from "@sandboxer/contract";
import { actingIn } from "./attachments/acting.ts";
import { filesAs, readOnlyFiles, userOf } from "./attachments/confine.ts";
import { recordedFiles } from "./events/uses.ts";
import type { House } from "./house.ts";
import { leasedFiles } from "./leased.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

export async function files(house: House, principal: Principal, idOrName: string): Promise<Files> {
  authorize(principal.chain, "sandbox.files");
  const { sandbox, box } = await reach(house, principal, "sandbox.files", idOrName);
  const attachment = await actingIn(house, principal, sandbox);
  const own = await userOf(attachment, box);
  const { id: sandboxId, orgId } = sandbox;
  const who = { orgId, sandboxId, principalId: principal.id, attachmentId: attachment.id };
  // Below what refuses, so that only what is granted is told of as that.
  const recorded = recordedFiles(box.files, (type, path) => house.uses.record({ ...who, type }, path));
  const confined = attachment.access === "read-only" ? readOnlyFiles : filesAs;
  const files = own === undefined ? recorded : confined(recorded, own);
  return leasedFiles(house.leases, principal, box, files);
}
