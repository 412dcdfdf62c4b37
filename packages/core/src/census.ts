import { type Principal, SandboxerError, type SandboxState } from "@sandboxer/contract";
import type { House } from "./house.ts";

/** How many sandboxes the org has in each state. The whole org's figures are the root key's alone. */
export async function census(
  house: House,
  { chain, orgId }: Principal,
): Promise<ReadonlyMap<SandboxState, number>> {
  if (chain.length === 1) return house.store.countSandboxes(orgId);
  throw new SandboxerError("policy_denied", "only the root key sees the org's figures", {
    details: { rule: "root" },
  });
}
