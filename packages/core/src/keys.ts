import { hash } from "node:crypto";
import {
  type CreatedKey,
  type CreateKeyBody,
  type Key,
  newApiKey,
  newRowId,
  type Principal,
  SandboxerError,
  type Whoami,
} from "@sandboxer/contract";
import { settleForsaken } from "./attachments/forsaken.ts";
import { findKey } from "./find-key.ts";
import type { House } from "./house.ts";
import type { Once } from "./idempotency.ts";
import { authorize } from "./policy/authorize.ts";
import { delegate } from "./policy/delegate.ts";
import { effectiveRights } from "./policy/effective.ts";
import { answerSealedOnce } from "./sealed-answer.ts";
import type { Claim } from "./store/idempotency-store.ts";
import type { FoundKey } from "./store/key-store.ts";
import type { Store } from "./store/store.ts";
import { tierOf } from "./trust/tier.ts";

/** A key carries 256 random bits, so one plain hash keeps it as secret as a slow one would. */
export function hashKey(apiKey: string): string {
  return hash("sha256", apiKey);
}

export async function authenticate(house: House, apiKey: string): Promise<Principal> {
  return holderOf(house, await house.store.findKey(hashKey(apiKey)));
}

/** Who holds a key that still counts. */
export function holderOf({ clock, denials, installationId }: House, found: FoundKey | undefined): Principal {
  const refuse = (rule: string, message: string): never => {
    // Nobody's key belongs to no org, so it goes into the installation's own log.
    const who = found?.principal ?? { orgId: installationId };
    denials.record(who, { verb: "authenticate", code: "unauthenticated", rule });
    throw new SandboxerError("unauthenticated", message);
  };
  if (!found) return refuse("unknown", "nobody holds this key");
  if ((found.principal.expiresAtMs ?? Number.POSITIVE_INFINITY) <= clock.nowMs()) {
    return refuse("expired", "this key's time is up");
  }
  if (found.revoked) return refuse("revoked", "this key was revoked");
  return found.principal;
}

/** The answer holds the key itself, so what is kept for a repetition is sealed. */
export async function createKey(
  house: House,
  principal: Principal,
  body: CreateKeyBody,
  once: Once = {},
): Promise<CreatedKey> {
  authorize(principal.chain, "key.create");
  return answerSealedOnce(house, principal, { operation: "key.create", body, once }, (claimed) =>
    writeChild(house, principal, body, claimed),
  );
}

async function writeChild(
  house: House,
  principal: Principal,
  body: CreateKeyBody,
  claimed?: (created: CreatedKey) => Claim & { readonly answer: string },
): Promise<CreatedKey> {
  const createdAtMs = house.clock.nowMs();
  const { name, kind, team, role, rights, expiresAtMs, identity } = delegate(principal, body, createdAtMs);
  const apiKey = newApiKey();
  const key: Key = {
    id: newRowId("key"),
    orgId: principal.orgId,
    parentId: principal.keyId,
    ...(name !== undefined && { name }),
    ...(role && { role }),
    rights,
    principal: { id: newRowId("prn"), kind, ...(team !== undefined && { team }) },
    ...(identity !== undefined && { identity }),
    createdAtMs,
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
  const created = { apiKey, key };
  const row = { ...key, hash: hashKey(apiKey), byPrincipalId: principal.id };
  await house.store.insertKey(row, claimed?.(created));
  return created;
}

/** One's own key and everything derived from it: what lies beside or above is nobody's business. */
export async function listKeys(house: House, principal: Principal): Promise<Key[]> {
  authorize(principal.chain, "key.read");
  return house.store.listKeys(principal.orgId, principal.keyId);
}

/** By id, by name, or by the beginning of its id. */
export async function revokeKey(house: House, principal: Principal, word: string): Promise<string[]> {
  authorize(principal.chain, "key.revoke");
  const { orgId, id: principalId } = principal;
  // A name may have been given again since; what is revoked already needs no end.
  const key = await findKey(house, principal, word, ({ revokedAtMs }) => revokedAtMs === undefined);
  const { id: keyId } = key;
  if (key.parentId === undefined) {
    throw new SandboxerError("policy_denied", "the root key cannot be revoked", {
      details: { rule: "root" },
      hint: "Start the gateway with another SANDBOXER_API_KEY; that retires this one.",
    });
  }
  const revoked = await house.store.revokeKey({ orgId, keyId, atMs: house.clock.nowMs(), principalId });
  house.leases.end(revoked);
  await settleForsaken(house);
  return revoked;
}

export async function whoami({ clock }: House, principal: Principal): Promise<Whoami> {
  const { id: principalId, orgId, keyId, team, expiresAtMs, chain } = principal;
  const trust = tierOf(principal, clock.nowMs());
  return {
    principalId,
    orgId,
    keyId,
    ...(team !== undefined && { team }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(trust && { trust }),
    rights: effectiveRights(chain),
  };
}

/** The one key that holds every right on this installation; its former self no longer opens anything. */
export async function enrolRootKey(store: Store, apiKey: string): Promise<void> {
  const hashed = hashKey(apiKey);
  // Known on every start but the first, and a look is all that costs.
  if (await store.findKey(hashed)) return;
  await store.enrolRootKey({
    hash: hashed,
    keyId: newRowId("key"),
    orgId: newRowId("org"),
    principalId: newRowId("prn"),
    atMs: Date.now(),
  });
}

/** The first key of a new org, with every right. The key itself is shown here and kept nowhere. */
export async function createRootKey(store: Store): Promise<{ apiKey: string; principal: Principal }> {
  const apiKey = newApiKey();
  const hashed = hashKey(apiKey);
  await store.insertKey({
    id: newRowId("key"),
    orgId: newRowId("org"),
    principal: { id: newRowId("prn"), kind: "user" },
    rights: {},
    hash: hashed,
    createdAtMs: Date.now(),
  });
  const found = await store.findKey(hashed);
  if (!found) throw new SandboxerError("internal", "a key that was written is not there");
  return { apiKey, principal: found.principal };
}
