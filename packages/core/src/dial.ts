import { type ByteStream, type Principal, portSchema } from "@sandboxer/contract";
import { actingIn } from "./attachments/acting.ts";
import { refuseReadOnly } from "./attachments/confine.ts";
import { demand } from "./facet.ts";
import type { House } from "./house.ts";
import { leasedStream } from "./leased.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

export async function dial(
  house: House,
  principal: Principal,
  idOrName: string,
  asked: number,
): Promise<ByteStream> {
  authorize(principal.chain, "sandbox.ports");
  const port = parse(portSchema, asked);
  const { sandbox, box } = await reach(house, principal, "sandbox.ports", idOrName);
  const attachment = await actingIn(house, principal, sandbox);
  refuseReadOnly(attachment, "reach its ports");
  const ports = demand("ports", box.ports);
  const { id: sandboxId, orgId } = sandbox;
  const use = { orgId, sandboxId, principalId: principal.id, attachmentId: attachment.id };
  await house.uses.record({ ...use, type: "port.reached" }, String(port));
  const stream = await ports.dial(port);
  return leasedStream(house.leases, principal, box, stream);
}
