import {
  createdKeySchema,
  createKeyBodySchema,
  identityChallengeSchema,
  keyListSchema,
  proveIdentityBodySchema,
  revokedKeysSchema,
  whoamiSchema,
} from "@sandboxer/contract";
import { keyParams } from "./parameters.ts";
import { route } from "./route.ts";

export const keyRoutes = [
  route(
    {
      method: "GET",
      path: "/v1/whoami",
      operation: "key",
      summary: "Who asks, and what it may do",
      answer: { type: "json", status: 200, schema: whoamiSchema },
    },
    ({ core, principal }) => core.whoami(principal),
  ),
  route(
    {
      method: "POST",
      path: "/v1/identity/challenge",
      operation: "key",
      summary: "What the holder of this key has to sign to show who it is",
      answer: { type: "json", status: 200, schema: identityChallengeSchema },
    },
    ({ core, principal }) => core.challengeIdentity(principal),
  ),
  route(
    {
      method: "POST",
      path: "/v1/identity/proof",
      operation: "key",
      summary: "Show that the holder of this key has the Ed25519 key it should have",
      body: proveIdentityBodySchema,
      answer: { type: "json", status: 200, schema: whoamiSchema },
    },
    ({ core, principal, body }) => core.proveIdentity(principal, body),
  ),
  route(
    {
      method: "POST",
      path: "/v1/keys",
      operation: "key.create",
      idempotent: true,
      summary: "Derive a key, never wider than the one that asks; it is shown only in this answer",
      body: createKeyBodySchema,
      answer: { type: "json", status: 201, schema: createdKeySchema },
    },
    ({ core, principal, body, once }) => core.createKey(principal, body, once),
  ),
  route(
    {
      method: "GET",
      path: "/v1/keys",
      operation: "key.read",
      summary: "List the key that asks and everything derived from it",
      answer: { type: "json", status: 200, schema: keyListSchema },
    },
    async ({ core, principal }) => ({ keys: await core.listKeys(principal) }),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/keys/{key}",
      operation: "key.revoke",
      summary: "Revoke a key, everything derived from it, and what any of them is doing now",
      params: keyParams,
      answer: { type: "json", status: 200, schema: revokedKeysSchema },
    },
    async ({ core, principal, params }) => ({ revoked: await core.revokeKey(principal, params.key) }),
  ),
];
