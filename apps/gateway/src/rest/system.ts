import { createRequestSchema, healthSchema } from "@sandboxer/contract";
import { z } from "zod";
import { VERSION } from "../version.ts";
import { route } from "./route.ts";

const findingSchema = z.object({
  id: z.string(),
  ok: z.boolean(),
  message: z.string(),
  fix: z.string().optional(),
});

const probeSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("offer"), findings: z.array(findingSchema).readonly() }),
  z.object({
    status: z.literal("unavailable"),
    reason: z.string(),
    fix: z.string(),
    findings: z.array(findingSchema).readonly(),
  }),
]);

export const systemRoutes = [
  route(
    {
      method: "GET",
      path: "/health",
      operation: "public",
      summary: "Whether the gateway answers",
      answer: { type: "json", status: 200, schema: healthSchema },
    },
    async () => ({ status: "ok" as const, version: VERSION }),
  ),
  route(
    {
      method: "POST",
      path: "/v1/route/explain",
      operation: "sandbox.create",
      summary: "The route a create would take, with every rejected extension and its reason",
      body: createRequestSchema,
      answer: { type: "json", status: 200, schema: z.unknown() },
    },
    ({ core, principal, body }) => core.explain(principal, body),
  ),
  route(
    {
      method: "GET",
      path: "/v1/doctor",
      operation: "key",
      summary: "What every extension says of this machine",
      answer: {
        type: "json",
        status: 200,
        schema: z.object({ extensions: z.record(z.string(), probeSchema) }),
      },
    },
    async ({ core }) => ({ extensions: Object.fromEntries(await core.doctor()) }),
  ),
];
