import { SandboxerError, type Secret, secretNameSchema } from "@sandboxer/contract";
import { z } from "zod";
import { pageOf } from "./page.ts";
import { type Call, control } from "./route.ts";

const iso = (ms: number) => new Date(ms).toISOString();

/** Refused and not forgotten: a secret has a name here, and where it may go. */
const metadataSchema = z
  .record(z.string(), z.string())
  .refine((metadata) => Object.keys(metadata).length === 0, "a secret has no metadata here")
  .nullish();

function view({ id, name, version, createdAtMs, rotatedAtMs }: Secret) {
  const times = { createdAt: iso(createdAtMs), updatedAt: iso(rotatedAtMs) };
  return { secretID: id, name, currentVersion: version, metadata: {}, ...times };
}

/** By id or name; another's is as absent as one that never was. */
async function find({ core, principal, params }: Call<unknown>): Promise<Secret> {
  const asked = params.id ?? "";
  const named = (await core.listSecrets(principal)).filter(({ id, name }) => id === asked || name === asked);
  const found = named.find(({ principalId }) => principalId === principal.id) ?? named[0];
  if (found) return found;
  throw new SandboxerError("not_found", `secret '${asked.slice(0, 64)}' not found`);
}

export const secretRoutes = [
  control(
    {
      method: "POST",
      path: "/secrets",
      operation: "secret.write",
      body: z.object({ name: secretNameSchema, value: z.string(), metadata: metadataSchema }),
    },
    async ({ core, principal, body: { name, value } }) => {
      const known = await core.listSecrets(principal);
      if (known.some((one) => one.name === name && one.principalId === principal.id)) {
        throw new SandboxerError("conflict", `secret '${name}' already exists`);
      }
      // It goes only where rules of its owner's sandboxes write it.
      return { status: 201, body: view(await core.setSecret(principal, name, { value, bindings: [] })) };
    },
  ),
  control(
    { method: "GET", path: "/secrets", operation: "secret.read" },
    async ({ core, principal, query }) => {
      const all = (await core.listSecrets(principal)).toSorted(
        (one, other) => other.createdAtMs - one.createdAtMs,
      );
      const { page, headers = {} } = pageOf(all, query, ({ id, createdAtMs }) => ({ id, atMs: createdAtMs }));
      return { status: 200, body: page.map(view), headers };
    },
  ),
  control({ method: "GET", path: "/secrets/{id}", operation: "secret.read" }, async (call) => ({
    status: 200,
    body: view(await find(call)),
  })),
  control(
    {
      method: "POST",
      path: "/secrets/{id}",
      operation: "secret.write",
      body: z.object({ value: z.string(), metadata: metadataSchema }),
    },
    async (call) => {
      const { id } = await find(call);
      return {
        status: 200,
        body: view(await call.core.rotateSecret(call.principal, id, { value: call.body.value })),
      };
    },
  ),
  control({ method: "DELETE", path: "/secrets/{id}", operation: "secret.write" }, async (call) => {
    await call.core.deleteSecret(call.principal, (await find(call)).id);
    return { status: 204 };
  }),
];
