import { type Budget, type Principal, SandboxerError, setBudgetBodySchema } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";

/** The account that the caller's sandboxes draw on. */
export async function getBudget({ store }: House, { orgId, keyId }: Principal): Promise<Budget> {
  return store.getBudget(orgId, keyId);
}

/** Only the root key's to set: whoever else could would raise what it was itself given. */
export async function setBudget(house: House, principal: Principal, body: unknown): Promise<Budget> {
  authorize(principal.chain, "budget.write");
  const { limitMicroUsd } = parse(setBudgetBodySchema, body);
  if (principal.chain.length > 1) {
    throw new SandboxerError("policy_denied", "only the root key sets the org's budget", {
      details: { rule: "root" },
    });
  }
  const { orgId, id: principalId } = principal;
  return house.store.setOrgBudget({ orgId, limitMicroUsd, principalId, atMs: house.clock.nowMs() });
}
