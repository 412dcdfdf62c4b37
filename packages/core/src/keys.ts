import { createHash } from "node:crypto";
import { newApiKey, newRowId, type Principal, SandboxerError } from "@sandboxer/contract";
import type { House } from "./house.ts";
import type { Store } from "./store/store.ts";

/** A key carries 256 random bits, so one plain hash keeps it as secret as a slow one would. */
function hashKey(apiKey: string): string {
  return createHash("sha256").update(apiKey).digest("hex");
}

export async function authenticate({ store }: House, apiKey: string): Promise<Principal> {
  const principal = await store.findPrincipalByKeyHash(hashKey(apiKey));
  if (principal) return principal;
  throw new SandboxerError("unauthenticated", "nobody holds this key");
}

/** The first key of a new org, with every right. The key itself is shown here and kept nowhere. */
export async function createRootKey(store: Store): Promise<{ apiKey: string; principal: Principal }> {
  const apiKey = newApiKey();
  const key = {
    id: newRowId("key"),
    orgId: newRowId("org"),
    principalId: newRowId("prn"),
    rights: {},
    hash: hashKey(apiKey),
    createdAtMs: Date.now(),
  };
  await store.insertKey(key);
  return {
    apiKey,
    principal: { id: key.principalId, orgId: key.orgId, keyId: key.id, chain: [key.rights] },
  };
}
