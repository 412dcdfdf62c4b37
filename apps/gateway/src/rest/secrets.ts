import {
  emptySchema,
  grantSecretBodySchema,
  rotateSecretBodySchema,
  rowIdSchema,
  secretListSchema,
  secretNameSchema,
  secretSchema,
  setSecretBodySchema,
} from "@sandboxer/contract";
import { z } from "zod";
import { route } from "./route.ts";

const params = z.strictObject({ secret: secretNameSchema });
const one = { type: "json", status: 200, schema: secretSchema } as const;

export const secretRoutes = [
  route(
    {
      method: "GET",
      path: "/v1/secrets",
      operation: "secret.read",
      summary: "List the secrets that the key may use, and where each may go; never what it is",
      answer: { type: "json", status: 200, schema: secretListSchema },
    },
    async ({ core, principal }) => ({ secrets: await core.listSecrets(principal) }),
  ),
  route(
    {
      method: "PUT",
      path: "/v1/secrets/{secret}",
      operation: "secret.write",
      summary: "Keep a secret, or say where it is kept, and where it may be put in",
      params,
      body: setSecretBodySchema,
      answer: one,
    },
    ({ core, principal, params: { secret }, body }) => core.setSecret(principal, secret, body),
  ),
  route(
    {
      method: "POST",
      path: "/v1/secrets/{secret}/rotate",
      operation: "secret.write",
      summary: "Put in another value from now on; placeholders inside stay as they are",
      params,
      body: rotateSecretBodySchema,
      answer: one,
    },
    ({ core, principal, params: { secret }, body }) => core.rotateSecret(principal, secret, body),
  ),
  route(
    {
      method: "POST",
      path: "/v1/secrets/{secret}/grants",
      operation: "secret.write",
      summary: "Let the holder of a derived key use a secret",
      params,
      body: grantSecretBodySchema,
      answer: one,
    },
    ({ core, principal, params: { secret }, body }) => core.grantSecret(principal, secret, body),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/secrets/{secret}/grants/{grantee}",
      operation: "secret.write",
      summary: "Take a secret from the holder of a key and from everything derived from it",
      params: z.strictObject({ secret: secretNameSchema, grantee: rowIdSchema }),
      answer: one,
    },
    ({ core, principal, params: { secret, grantee } }) => core.revokeSecret(principal, secret, grantee),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/secrets/{secret}",
      operation: "secret.write",
      summary: "Forget a secret; nothing is put in for it any more",
      params,
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params: { secret } }) => {
      await core.deleteSecret(principal, secret);
      return {};
    },
  ),
];
