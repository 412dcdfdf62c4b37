import {
  createRequestSchema,
  doctorSchema,
  healthSchema,
  pruneBodySchema,
  routePlanSchema,
  storeSchema,
} from "@sandboxer/contract";
import { VERSION } from "../version.ts";
import { route } from "./route.ts";

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
      answer: { type: "json", status: 200, schema: routePlanSchema },
    },
    ({ core, principal, body }) => core.explain(principal, body),
  ),
  route(
    {
      method: "GET",
      path: "/v1/store",
      operation: "org.write",
      summary: "What takes room on this machine, and who needs it",
      answer: { type: "json", status: 200, schema: storeSchema },
    },
    ({ core, principal }) => core.listStored(principal),
  ),
  route(
    {
      method: "POST",
      path: "/v1/store/prune",
      operation: "org.write",
      summary: "Remove what nobody needs, or only say what that is",
      body: pruneBodySchema,
      answer: { type: "json", status: 200, schema: storeSchema },
    },
    ({ core, principal, body }) => core.prune(principal, body),
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
        schema: doctorSchema,
      },
    },
    async ({ core }) => ({ extensions: Object.fromEntries(await core.doctor()) }),
  ),
];
