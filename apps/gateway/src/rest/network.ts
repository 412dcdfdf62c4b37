import { guardedNetworkSchema, networkCallListSchema, sandboxSchema } from "@sandboxer/contract";
import { z } from "zod";
import { sandboxParams } from "./parameters.ts";
import { route } from "./route.ts";

const callsQuerySchema = z.strictObject({ after: z.coerce.number().int().nonnegative().default(0) });

export const networkRoutes = [
  route(
    {
      method: "PUT",
      path: "/v1/sandboxes/{id}/network",
      operation: "sandbox.network",
      summary: "Change the rules of a sandbox's way out; connections that lose theirs are closed",
      params: sandboxParams,
      body: guardedNetworkSchema,
      answer: { type: "json", status: 200, schema: sandboxSchema },
    },
    ({ core, principal, params, body }) => core.changeNetwork(principal, params.id, body),
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes/{id}/network/calls",
      operation: "sandbox.read",
      summary: "What a sandbox tried to reach, and the rules that would have allowed what was not",
      params: sandboxParams,
      query: callsQuerySchema,
      answer: { type: "json", status: 200, schema: networkCallListSchema },
    },
    ({ core, principal, params, query }) => core.networkCalls(principal, params.id, query.after),
  ),
];
