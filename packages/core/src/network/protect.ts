import { type Box, type Location, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { ask, callContext } from "../registry/registry.ts";
import { termsOf } from "./terms.ts";
import { installTrust } from "./trust.ts";

/** Puts a sandbox that has a way out under guard, unless it is already. Without a guard nothing gets out. */
export async function protect(
  house: House,
  sandbox: Sandbox,
  location: Location,
  open: () => Promise<Box>,
): Promise<void> {
  const { network } = sandbox.spec;
  if (network.egress !== "guarded" || house.guard?.knows(sandbox.id)) return;
  const { extensionId, ref } = location;
  const { network: facet } = house.registry.get(extensionId);
  if (!house.guard || !facet) {
    throw new SandboxerError("extension_unavailable", "there is nobody to guard its network");
  }
  const { certificate } = await house.guard.protect(
    sandbox.id,
    facet.door(ref),
    await termsOf(house, sandbox),
  );
  await installTrust(await open(), certificate);
}

const PATIENCE_MS = 30_000;

/** The same for one that runs already, whoever made it. */
export function protectAgain(house: House, sandbox: Sandbox, location: Location): Promise<void> {
  const { extensionId, ref } = location;
  const attach = () =>
    ask(house.registry.get(extensionId), (extension) =>
      extension.attach(ref, callContext(house.installationId, PATIENCE_MS)),
    );
  return protect(house, sandbox, location, () => house.boxes.open(sandbox.id, attach));
}
