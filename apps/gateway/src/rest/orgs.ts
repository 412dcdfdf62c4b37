import { createdOrgSchema, createOrgBodySchema, orgListSchema } from "@sandboxer/contract";
import { route } from "./route.ts";

export const orgRoutes = [
  route(
    {
      method: "POST",
      path: "/v1/orgs",
      operation: "org.write",
      idempotent: true,
      summary: "Make a tenant of its own; its root key is shown only in this answer",
      body: createOrgBodySchema,
      answer: { type: "json", status: 201, schema: createdOrgSchema },
    },
    ({ core, principal, body, once }) => core.createOrg(principal, body, once),
  ),
  route(
    {
      method: "GET",
      path: "/v1/orgs",
      operation: "org.write",
      summary: "List the tenants that were made by name",
      answer: { type: "json", status: 200, schema: orgListSchema },
    },
    async ({ core, principal }) => ({ orgs: await core.listOrgs(principal) }),
  ),
];
