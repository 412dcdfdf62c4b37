import type { CreateBody, Principal } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { narrow } from "./narrow.ts";
import { authorize } from "./policy/authorize.ts";
import { type RoutePlan, route } from "./route/route.ts";
import { needWorkspace, withSnapshot } from "./snapshots/restore.ts";

/** The first two steps of create. With no candidate left, the plan says why instead of throwing. */
export async function explain(house: House, principal: Principal, body: CreateBody): Promise<RoutePlan> {
  authorize(principal.chain, "sandbox.create");
  const asked = await withSnapshot(house, principal, body);
  const { spec, routing, trust } = await narrow(house, principal, asked);
  await needWorkspace(house, spec);
  return route(spec, await house.registry.offers(), routing, trust);
}
