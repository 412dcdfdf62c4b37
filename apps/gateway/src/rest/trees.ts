import { fileChangeSchema, unpackedSchema } from "@sandboxer/contract";
import { z } from "zod";
import { byteStream } from "./byte-stream.ts";
import { lineStream } from "./line-stream.ts";
import { flag, path, sandboxParams, user } from "./parameters.ts";
import { route } from "./route.ts";

const facts = { operation: "sandbox.files", params: sandboxParams } as const;

/** Whole folders: as archives, and what happens in them. */
export const treeRoutes = [
  route(
    {
      ...facts,
      method: "GET",
      path: "/v1/sandboxes/{id}/files/archive",
      summary: "A tar archive of a folder's content, or of one file",
      query: z.strictObject({ path, user }),
      answer: { type: "bytes" },
    },
    async ({ core, principal, params, query: { path, ...options } }) => {
      const files = await core.files(principal, params.id);
      return { body: byteStream(await files.pack(path, options)) };
    },
  ),
  route(
    {
      ...facts,
      method: "PUT",
      path: "/v1/sandboxes/{id}/files/archive",
      summary: "Unpack a tar archive into a folder",
      query: z.strictObject({ path, user, parents: flag.optional() }),
      body: "bytes",
      answer: { type: "json", status: 200, schema: unpackedSchema },
    },
    async ({ core, principal, params, query: { path, ...options }, body }) =>
      (await core.files(principal, params.id)).unpack(path, body, options),
  ),
  route(
    {
      ...facts,
      method: "GET",
      path: "/v1/sandboxes/{id}/files/watch",
      summary: "What changes in a folder, as it happens",
      query: z.strictObject({ path, user, recursive: flag.optional() }),
      answer: { type: "ndjson", schema: fileChangeSchema },
    },
    async ({ core, principal, report, params, query: { path, ...options } }) => {
      const watch = await (await core.files(principal, params.id)).watch(path, options);
      return { body: lineStream(watch.changes, report, () => watch.close()) };
    },
  ),
];
