import {
  type Budget,
  type Principal,
  SandboxerError,
  type SetBudgetBody,
  type SetKeyBudgetBody,
  setBudgetBodySchema,
  setKeyBudgetBodySchema,
} from "@sandboxer/contract";
import { findKey } from "./find-key.ts";
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

/** Of a derived key, by whoever holds one above it: nobody raises its own. Holds from the next hold on. */
export async function setKeyBudget(
  house: House,
  principal: Principal,
  word: string,
  body: SetKeyBudgetBody,
): Promise<Budget> {
  authorize(principal.chain, "key.create");
  const { limitMicroUsd } = parse(setKeyBudgetBodySchema, body);
  const { orgId, id: principalId } = principal;
  const key = await findKey(house, principal, word, ({ revokedAtMs }) => revokedAtMs === undefined);
  const { id: keyId } = key;
  if (keyId === principal.keyId) deny("own", "a key's budget is set by one above it");
  const atMs = house.clock.nowMs();
  const budget =
    key.revokedAtMs === undefined &&
    (await house.store.setKeyBudget({ orgId, keyId, limitMicroUsd, principalId, atMs }));
  if (budget) return budget;
  throw new SandboxerError("invalid_state", "this key has no budget of its own", {
    hint: "Keys get one when they are made: `keys create --budget`.",
  });
}

function deny(rule: string, message: string): never {
  throw new SandboxerError("policy_denied", message, { details: { rule } });
}
