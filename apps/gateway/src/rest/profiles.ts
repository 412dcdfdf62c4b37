import {
  importedPolicySchema,
  nameSchema,
  profileListSchema,
  profileRefSchema,
  publishedProfileSchema,
  suggestionSchema,
} from "@sandboxer/contract";
import { z } from "zod";
import { route } from "./route.ts";

const params = z.strictObject({ ref: profileRefSchema });

export const profileRoutes = [
  route(
    {
      method: "GET",
      path: "/v1/profiles",
      operation: "key",
      summary: "List profiles: built-in ones, and what the org published",
      answer: { type: "json", status: 200, schema: profileListSchema },
    },
    async ({ core, principal }) => ({ profiles: await core.listProfiles(principal) }),
  ),
  route(
    {
      method: "POST",
      path: "/v1/profiles",
      operation: "profile.publish",
      summary: "Publish the next version of a profile; it never changes afterwards",
      idempotent: true,
      // Core looks at it itself: reserved words have an answer of their own.
      body: z.record(z.string(), z.unknown()),
      answer: { type: "json", status: 201, schema: publishedProfileSchema },
    },
    ({ core, principal, body, once }) => core.publishProfile(principal, body, once),
  ),
  route(
    {
      method: "GET",
      path: "/v1/profiles/{ref}",
      operation: "key",
      summary: "Look at a profile, as in python or python@2",
      params,
      answer: { type: "json", status: 200, schema: publishedProfileSchema },
    },
    ({ core, principal, params }) => core.getProfile(principal, params.ref),
  ),
  route(
    {
      method: "POST",
      path: "/v1/profiles/{ref}/deprecate",
      operation: "profile.publish",
      summary: "Deprecate one version: named without a version it is no longer meant",
      params,
      answer: { type: "json", status: 200, schema: publishedProfileSchema },
    },
    ({ core, principal, params }) => core.deprecateProfile(principal, params.ref),
  ),
  route(
    {
      method: "POST",
      path: "/v1/profiles/suggest",
      operation: "sandbox.read",
      summary: "Suggest a profile that fits what an audited sandbox used; publishes nothing",
      body: z.strictObject({ sandbox: nameSchema, name: nameSchema.optional() }),
      answer: { type: "json", status: 200, schema: suggestionSchema },
    },
    ({ core, principal, body }) => core.suggestProfile(principal, body.sandbox, body.name),
  ),
  route(
    {
      method: "POST",
      path: "/v1/profiles/import-openshell",
      operation: "key",
      summary: "Write a profile that allows nothing an OpenShell policy does not; publishes nothing",
      // As its YAML reads.
      body: z.strictObject({ policy: z.record(z.string(), z.unknown()), name: nameSchema.optional() }),
      answer: { type: "json", status: 200, schema: importedPolicySchema },
    },
    ({ core, principal, body }) => core.importPolicy(principal, body.policy, body.name),
  ),
];
