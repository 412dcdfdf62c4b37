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
  refuseReadOnly(await actingIn(house, principal, sandbox), "reach its ports");
  const stream = await demand("ports", box.ports).dial(port);
  return leasedStream(house.leases, principal, box, stream);
}
