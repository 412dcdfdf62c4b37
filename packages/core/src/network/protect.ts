import { type Location, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { expandNetwork } from "./expand.ts";

/** Puts a sandbox that has a way out under guard, unless it is already. Without a guard nothing gets out. */
export async function protect(house: House, sandbox: Sandbox, location: Location): Promise<void> {
  const { network } = sandbox.spec;
  if (network.egress !== "guarded" || house.guard?.knows(sandbox.id)) return;
  const { extensionId, ref } = location;
  const { network: facet } = house.registry.get(extensionId);
  if (!house.guard || !facet) {
    throw new SandboxerError("extension_unavailable", "there is nobody to guard its network");
  }
  await house.guard.protect(sandbox.id, facet.door(ref), expandNetwork(network));
}
