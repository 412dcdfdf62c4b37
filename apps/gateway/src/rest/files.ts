import { emptySchema, fileEntrySchema, listingSchema, madeSchema, writtenSchema } from "@sandboxer/contract";
import { z } from "zod";
import { byteStream } from "./byte-stream.ts";
import { count, flag, octalMode, path, sandboxParams, user } from "./parameters.ts";
import { route } from "./route.ts";

const facts = { operation: "sandbox.files", params: sandboxParams } as const;

export const fileRoutes = [
  route(
    {
      ...facts,
      method: "GET",
      path: "/v1/sandboxes/{id}/files/content",
      summary: "Read a file, or a range of it",
      query: z.strictObject({ path, user, offset: count.optional(), length: count.optional() }),
      answer: { type: "bytes" },
    },
    async ({ core, principal, params, query: { path, ...options } }) => {
      const files = await core.files(principal, params.id);
      const content = await files.read(path, options);
      const headers = {
        "x-sandboxer-size": String(content.size),
        "x-sandboxer-mode": String(content.mode),
        "x-sandboxer-mtime-ms": String(content.mtimeMs),
      };
      return { body: byteStream(content.data), headers };
    },
  ),
  route(
    {
      ...facts,
      method: "PUT",
      path: "/v1/sandboxes/{id}/files/content",
      summary: "Write a file; without `append` it appears whole or not at all",
      query: z.strictObject({
        path,
        user,
        mode: octalMode.optional(),
        append: flag.optional(),
        parents: flag.optional(),
      }),
      body: "bytes",
      answer: { type: "json", status: 200, schema: writtenSchema },
    },
    async ({ core, principal, params, query: { path, ...options }, body }) => {
      const files = await core.files(principal, params.id);
      return { bytes: await files.write(path, body, options) };
    },
  ),
  route(
    {
      ...facts,
      method: "GET",
      path: "/v1/sandboxes/{id}/files/stat",
      summary: "Look at a path",
      query: z.strictObject({ path, user, follow: flag.optional() }),
      answer: { type: "json", status: 200, schema: fileEntrySchema },
    },
    async ({ core, principal, params, query: { path, ...options } }) =>
      (await core.files(principal, params.id)).stat(path, options),
  ),
  route(
    {
      ...facts,
      method: "GET",
      path: "/v1/sandboxes/{id}/files/list",
      summary: "List a folder",
      query: z.strictObject({ path, user, depth: count.optional() }),
      answer: { type: "json", status: 200, schema: listingSchema },
    },
    async ({ core, principal, params, query: { path, ...options } }) => ({
      entries: await (await core.files(principal, params.id)).list(path, options),
    }),
  ),
  route(
    {
      ...facts,
      method: "POST",
      path: "/v1/sandboxes/{id}/files/mkdir",
      summary: "Make a folder",
      body: z.strictObject({
        path,
        user,
        parents: z.boolean().optional(),
        mode: z.int().min(0).max(0o7777).optional(),
      }),
      answer: { type: "json", status: 200, schema: madeSchema },
    },
    async ({ core, principal, params, body: { path, ...options } }) => ({
      created: await (await core.files(principal, params.id)).mkdir(path, options),
    }),
  ),
  route(
    {
      ...facts,
      method: "POST",
      path: "/v1/sandboxes/{id}/files/move",
      summary: "Move a file or a folder",
      body: z.strictObject({ from: path, to: path, user }),
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params, body: { from, to, ...options } }) => {
      await (await core.files(principal, params.id)).move(from, to, options);
      return {};
    },
  ),
  route(
    {
      ...facts,
      method: "DELETE",
      path: "/v1/sandboxes/{id}/files",
      summary: "Remove a file or a folder",
      query: z.strictObject({ path, user, recursive: flag.optional() }),
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params, query: { path, ...options } }) => {
      await (await core.files(principal, params.id)).remove(path, options);
      return {};
    },
  ),
];
