import {
  type Budget,
  type Principal,
  SandboxerError,
  type SetBudgetBody,
  setBudgetBodySchema,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { authorizeOrgs } from "./orgs.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";

/** The account that the caller's sandboxes draw on. */
export async function getBudget({ store }: House, { orgId, keyId }: Principal): Promise<Budget> {
  return store.getBudget(orgId, keyId);
}

/** Only a root key's to set, and a tenant's only the operator's: whoever else could would raise its own. */
export async function setBudget(house: House, principal: Principal, body: SetBudgetBody): Promise<Budget> {
  authorize(principal.chain, "budget.write");
  const { limitMicroUsd, org } = parse(setBudgetBodySchema, body);
  if (principal.chain.length > 1) deny("root", "only the root key sets the org's budget");
  const tenants = await house.store.listOrgs();
  if (org === undefined && tenants.some(({ id }) => id === principal.orgId)) {
    deny("installation", "a tenant's budget is the operator's to set");
  }
  if (org !== undefined) await authorizeOrgs(house, principal);
  const orgId = org === undefined ? principal.orgId : tenants.find(({ name }) => name === org)?.id;
  if (orgId === undefined) throw new SandboxerError("not_found", `no org ${org}`);
  const atMs = house.clock.nowMs();
  return house.store.setOrgBudget({ orgId, limitMicroUsd, principalId: principal.id, atMs });
}

function deny(rule: string, message: string): never {
  throw new SandboxerError("policy_denied", message, { details: { rule } });
}
