import { z } from "zod";
import { documentOf } from "../openapi/document.ts";
import { REFERENCE_POLICY, referencePage } from "../openapi/reference.ts";
import { route } from "./route.ts";

/** What this gateway can be asked, for programs and for people. It says nothing of any tenant. */
export const referenceRoutes = [
  route(
    {
      method: "GET",
      path: "/v1/openapi.json",
      operation: "public",
      summary: "This API as OpenAPI 3.1",
      answer: { type: "json", status: 200, schema: z.looseObject({ openapi: z.literal("3.1.0") }) },
    },
    async ({ routes }) => ({ ...documentOf(routes), openapi: "3.1.0" as const }),
  ),
  route(
    {
      method: "GET",
      path: "/v1/reference",
      operation: "public",
      summary: "This API as a page to read",
      answer: { type: "text", contentType: "text/html; charset=utf-8", description: "A page." },
    },
    async ({ routes }) => ({
      body: referencePage(documentOf(routes)),
      headers: { "content-security-policy": REFERENCE_POLICY, "referrer-policy": "no-referrer" },
    }),
  ),
];
