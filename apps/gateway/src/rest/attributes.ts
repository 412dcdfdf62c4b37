import { Buffer } from "node:buffer";
import { concatenate, emptySchema, SandboxerError, xattrsAnswerSchema } from "@sandboxer/contract";
import { z } from "zod";
import { path, sandboxParams, user } from "./parameters.ts";
import { route } from "./route.ts";

const facts = { operation: "sandbox.files", params: sandboxParams } as const;
const name = z
  .string()
  .max(255)
  .regex(/^user\.[^\0]+$/, "an attribute's name begins with user.");
const MAXIMUM_VALUE_BYTES = 65_536;

export const attributeRoutes = [
  route(
    {
      ...facts,
      method: "POST",
      path: "/v1/sandboxes/{id}/files/chmod",
      summary: "Set permission bits",
      body: z.strictObject({ path, user, mode: z.int().min(0).max(0o7777) }),
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params, body: { path, mode, ...options } }) => {
      await (await core.files(principal, params.id)).chmod(path, mode, options);
      return {};
    },
  ),
  route(
    {
      ...facts,
      method: "POST",
      path: "/v1/sandboxes/{id}/files/symlink",
      summary: "Make a symbolic link",
      body: z.strictObject({ path, user, target: path }),
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params, body: { path, target, ...options } }) => {
      await (await core.files(principal, params.id)).symlink(path, target, options);
      return {};
    },
  ),
  route(
    {
      ...facts,
      method: "GET",
      path: "/v1/sandboxes/{id}/files/xattrs",
      summary: "A file's extended attributes",
      query: z.strictObject({ path, user }),
      answer: { type: "json", status: 200, schema: xattrsAnswerSchema },
    },
    async ({ core, principal, params, query: { path, ...options } }) => {
      const found = await (await core.files(principal, params.id)).xattrs(path, options);
      const entries = Object.entries(found).map(([name, value]) => [
        name,
        Buffer.from(value).toString("base64"),
      ]);
      return { xattrs: Object.fromEntries(entries) };
    },
  ),
  route(
    {
      ...facts,
      method: "PUT",
      path: "/v1/sandboxes/{id}/files/xattrs",
      summary: "Set an extended attribute to the body's bytes",
      query: z.strictObject({ path, name, user }),
      body: "bytes",
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params, query: { path, name, ...options }, body }) => {
      const files = await core.files(principal, params.id);
      await files.setXattr(path, name, await readValue(body), options);
      return {};
    },
  ),
  route(
    {
      ...facts,
      method: "DELETE",
      path: "/v1/sandboxes/{id}/files/xattrs",
      summary: "Remove an extended attribute",
      query: z.strictObject({ path, name, user }),
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params, query: { path, name, ...options } }) => {
      await (await core.files(principal, params.id)).removeXattr(path, name, options);
      return {};
    },
  ),
];

async function readValue(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > MAXIMUM_VALUE_BYTES) {
      throw new SandboxerError("payload_too_large", "an attribute holds at most 64 KiB");
    }
    parts.push(part);
  }
  return concatenate(parts);
}
