import {
  imageListSchema,
  imageQuerySchema,
  importImageOptionsSchema,
  keptImageSchema,
  prunedSchema,
  pullImageBodySchema,
  pullLineSchema,
} from "@sandboxer/contract";
import { lineStream } from "./line-stream.ts";
import { route } from "./route.ts";

/** Images that extensions keep. What a sandbox is made of need not be here before: a create gets it. */
export const imageRoutes = [
  route(
    {
      method: "GET",
      path: "/v1/images",
      operation: "sandbox.read",
      summary: "List the images that are kept here, newest first",
      answer: { type: "json", status: 200, schema: imageListSchema },
    },
    async ({ core, principal }) => ({ images: await core.listImages(principal) }),
  ),
  route(
    {
      method: "POST",
      path: "/v1/images/pull",
      operation: "image.write",
      summary: "Get an image from a registry, and hear how that goes",
      body: pullImageBodySchema,
      answer: { type: "ndjson", schema: pullLineSchema },
    },
    async ({ core, principal, report, body }) => {
      const lines = await core.pullImage(principal, body);
      const leave = () => void lines[Symbol.asyncIterator]().return?.();
      return { body: lineStream(lines, report, leave) };
    },
  ),
  route(
    {
      method: "PUT",
      path: "/v1/images",
      operation: "image.write",
      summary: "Take an image in from one file: an OCI or docker archive, or a root's files",
      query: importImageOptionsSchema,
      body: "bytes",
      answer: { type: "json", status: 201, schema: keptImageSchema },
    },
    ({ core, principal, query, body }) => core.importImage(principal, body, query),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/images",
      operation: "image.write",
      summary: "Remove a name of an image, or all of it by its digest",
      query: imageQuerySchema,
      answer: { type: "json", status: 200, schema: keptImageSchema },
    },
    ({ core, principal, query }) => core.removeImage(principal, query),
  ),
  route(
    {
      method: "POST",
      path: "/v1/images/prune",
      operation: "image.write",
      summary: "Remove what has no name and no sandbox",
      answer: { type: "json", status: 200, schema: prunedSchema },
    },
    ({ core, principal }) => core.pruneImages(principal),
  ),
];
