import { type Metrics, type Principal, SandboxerError } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { isStopped } from "./lifecycle/stopped.ts";
import { askOf } from "./place.ts";
import { authorize } from "./policy/authorize.ts";
import { elsewise, locate } from "./reach.ts";

export async function metrics(house: House, principal: Principal, idOrName: string): Promise<Metrics> {
  authorize(principal.chain, "sandbox.read");
  const place = await locate(house, principal, "sandbox.read", idOrName, ["running", "paused"]);
  if (isStopped(place.sandbox)) throw elsewise(place.sandbox);
  const { metrics: facet, manifest } = place.extension;
  if (!facet) throw new SandboxerError("unsupported", `${manifest.id} counts nothing`);
  return askOf(house, place, (_, ref, context) => facet.read(ref, context));
}
