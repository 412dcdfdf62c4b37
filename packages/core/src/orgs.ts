import {
  type CreatedOrg,
  type CreateOrgBody,
  createOrgBodySchema,
  newApiKey,
  newRowId,
  type Org,
  type Principal,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import type { Once } from "./idempotency.ts";
import { hashKey } from "./keys.ts";
import { refuseUnknownCapabilities } from "./network/capabilities.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";
import { answerSealedOnce } from "./sealed-answer.ts";

/** Tenants are the operator's to make: whoever holds the installation's own root key. */
export async function authorizeOrgs(house: House, { chain, orgId }: Principal): Promise<void> {
  authorize(chain, "org.write");
  if (chain.length === 1 && orgId === (await house.store.rootOrgId())) return;
  throw new SandboxerError("policy_denied", "only the installation's root key keeps orgs", {
    details: { rule: "installation" },
  });
}

/** A tenant of its own, and its root key. From then on nothing leads from one to the other. */
export async function createOrg(
  house: House,
  principal: Principal,
  body: CreateOrgBody,
  once: Once = {},
): Promise<CreatedOrg> {
  await authorizeOrgs(house, principal);
  const { name, budgetMicroUsd, ...rights } = parse(createOrgBodySchema, body);
  refuseUnknownCapabilities(rights.capabilities);
  const asked = { operation: "org.create", body, once };
  return answerSealedOnce<CreatedOrg>(house, principal, asked, async (claimed) => {
    const createdAtMs = house.clock.nowMs();
    const org: Org = { id: newRowId("org"), name, createdAtMs };
    const created = { org, apiKey: newApiKey() };
    const key = {
      id: newRowId("key"),
      orgId: org.id,
      principal: { id: newRowId("prn"), kind: "user" as const },
      rights,
      hash: hashKey(created.apiKey),
      createdAtMs,
    };
    const insert = { org, key, principalId: principal.id, limitMicroUsd: budgetMicroUsd };
    await house.store.insertOrg(insert, claimed?.(created));
    return created;
  });
}

export async function listOrgs(house: House, principal: Principal): Promise<Org[]> {
  await authorizeOrgs(house, principal);
  return house.store.listOrgs();
}
