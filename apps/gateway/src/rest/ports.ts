import { createPreviewBodySchema, emptySchema, previewSchema, SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { byteStream } from "./byte-stream.ts";
import { connectionParams, flag, portParams, sandboxParams } from "./parameters.ts";
import { route } from "./route.ts";

const facts = { operation: "sandbox.ports" } as const;

export const portRoutes = [
  route(
    {
      ...facts,
      method: "POST",
      path: "/v1/sandboxes/{id}/previews",
      summary: "An address for a port inside, for those who have no key",
      params: sandboxParams,
      body: createPreviewBodySchema,
      answer: { type: "json", status: 201, schema: previewSchema },
    },
    async ({ core, previews, principal, params, body }) => {
      const grant = await core.openPreview(principal, params.id, body);
      if (previews.url) return { ...grant, ...previews.place.addressesOf(grant, new URL(previews.url)) };
      throw new SandboxerError("unsupported", "previews need a gateway that listens", {
        hint: "Start one with `sandboxer up`.",
      });
    },
  ),
  route(
    {
      ...facts,
      method: "POST",
      path: "/v1/sandboxes/{id}/ports/{port}/connections",
      summary: "Connect to a TCP port inside, and stream what comes out",
      params: portParams,
      answer: { type: "bytes" },
    },
    async ({ core, connections, principal, params }) => {
      const stream = await core.dial(principal, params.id, params.port);
      const { id, data } = connections.hold(principal, params.id, stream);
      return { body: byteStream(data, () => stream.close()), headers: { "x-sandboxer-connection": id } };
    },
  ),
  route(
    {
      ...facts,
      method: "POST",
      path: "/v1/sandboxes/{id}/ports/{port}/connections/{connection}/input",
      summary: "Send bytes into a connection",
      params: connectionParams,
      query: z.strictObject({ end: flag.optional() }),
      body: "bytes",
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ connections, principal, params, query, body }) => {
      const stream = connections.reach(principal, params.id, params.connection);
      for await (const chunk of body) await stream.write(chunk);
      if (query.end) await stream.end();
      return {};
    },
  ),
];
