import {
  type ChangesOptions,
  changesBodySchema,
  type Principal,
  type WorkspaceChange,
} from "@sandboxer/contract";
import { actingIn } from "./attachments/acting.ts";
import { changesOf } from "./changes.ts";
import type { House } from "./house.ts";
import { leasedItems } from "./leased.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

export async function diff(
  house: House,
  principal: Principal,
  idOrName: string,
  options: ChangesOptions = {},
): Promise<AsyncIterable<WorkspaceChange>> {
  authorize(principal.chain, "sandbox.files");
  const asked = parse(changesBodySchema, options);
  const { sandbox, box } = await reach(house, principal, "sandbox.files", idOrName);
  await actingIn(house, principal, sandbox);
  const changes = await changesOf(sandbox, box).changes(asked);
  return leasedItems(house.leases, principal, box, changes);
}
