import { grantSecretBodySchema, type Principal, SandboxerError, type Secret } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { mayUse } from "./may-use.ts";
import { retell } from "./retell.ts";
import { absent, findSecret, listSecrets } from "./secrets.ts";

/** Lets the holder of a key use it. Whoever may use one may give it to keys derived from its own. */
export async function grantSecret(
  house: House,
  principal: Principal,
  name: string,
  body: unknown,
): Promise<Secret> {
  authorize(principal.chain, "secret.write");
  const { keyId } = parse(grantSecretBodySchema, body);
  const secret = await findSecret(house, principal, name, (one) => mayUse(one, principal.id));
  const { orgId, id: principalId } = principal;
  const key = (await house.store.listKeys(orgId, principal.keyId)).find(({ id }) => id === keyId);
  const found = key && (await house.store.findKeyById(keyId));
  if (!key || !found) throw new SandboxerError("not_found", `no key ${keyId}`);
  if (found.revoked) throw new SandboxerError("invalid_request", "keyId: it was revoked");
  const { id: toPrincipalId, lineage: toLineage } = found.principal;
  const atMs = house.clock.nowMs();
  const { id, name: called } = secret;
  await house.store.grantSecret({
    id,
    orgId,
    name: called,
    keyId,
    toPrincipalId,
    toLineage,
    principalId,
    atMs,
  });
  await retell(house, secret);
  return again(house, principal, secret);
}

/** Takes it from the holder of a key and from all below; from then on nothing is put in for them. */
export async function revokeSecret(
  house: House,
  principal: Principal,
  name: string,
  keyId: string,
): Promise<Secret> {
  authorize(principal.chain, "secret.write");
  const secret = await findSecret(house, principal, name, (one) => mayUse(one, principal.id));
  const { orgId, id: principalId } = principal;
  const grant = secret.grants.find((one) => one.keyId === keyId);
  const isBelow = (await house.store.listKeys(orgId, principal.keyId)).some(({ id }) => id === keyId);
  if (!grant || !(isBelow || secret.lineage.includes(principalId))) {
    throw new SandboxerError("not_found", `it was not granted to the key ${keyId}`);
  }
  const atMs = house.clock.nowMs();
  const of = { id: secret.id, orgId, name: secret.name, principalId, atMs };
  await house.store.revokeSecret({ ...of, toPrincipalId: grant.principalId });
  await retell(house, secret);
  return again(house, principal, secret);
}

async function again(house: House, principal: Principal, { id, name }: Secret): Promise<Secret> {
  const secret = (await listSecrets(house, principal)).find((one) => one.id === id);
  if (!secret) throw absent(name);
  return secret;
}
