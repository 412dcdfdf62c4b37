import { z } from "zod";
import { approvalsSchema } from "./approval.ts";
import { extensionIdSchema } from "./ids.ts";
import { isolationClassSchema } from "./isolation.ts";
import { microUsdSchema } from "./money.ts";
import { networkSchema } from "./network.ts";
import { visibilitySchema } from "./principal.ts";
import { limitsSchema, resourcesSchema } from "./resources.ts";
import { reuseScopeSchema } from "./reuse.ts";
import { routingSchema } from "./routing.ts";
import {
  careSchema,
  envSchema,
  imageSchema,
  labelsSchema,
  persistenceSchema,
  rootSchema,
  sandboxSpecSchema,
  secretsSchema,
} from "./spec.ts";

const profileNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,38}$/, "a profile's name is 1 to 39 characters of a-z, 0-9 and -");

/** `python` is the newest that is not deprecated; `python@2` is that one for ever. */
export const profileRefSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,38}(?:@[1-9]\d{0,5})?$/, "a profile is named as in python or python@2");

/** Words with a meaning to come. Asked for today they are refused as `unsupported`, not ignored. */
export const RESERVED_FIELDS = ["gpu", "browser", "desktop", "region"] as const;

/** What may be done with a folder of the host, from least to most. */
export const WORKSPACE_REACH = [
  "none",
  "read-only",
  "remote",
  "copy-on-write",
  "mirror",
  "read-write",
] as const;

/** What a sandbox of this kind is. A request may narrow it, never widen it. */
export const profileSchema = z.strictObject({
  schema: z.literal(1),
  name: profileNameSchema,
  description: z.string().max(500).optional(),
  /** Starts from this profile; what is said here wins. Lists and amounts replace, variables and labels add. */
  extends: profileRefSchema.optional(),
  image: imageSchema.optional(),
  /** The snapshot that its sandboxes start from, by id or name; whoever sees the profile may use it so. */
  from: z.string().max(63).optional(),
  /** The least isolation class. */
  isolation: isolationClassSchema.optional(),
  persistence: persistenceSchema.optional(),
  /** Which ways out it has. A request may take fewer, never others. */
  network: networkSchema.optional(),
  /** Secrets whose placeholders it has, by name. A request may take fewer, never others. */
  secrets: secretsSchema.optional(),
  /** Operations on its sandboxes that wait for somebody else's word. A request may add to them. */
  approvals: approvalsSchema.optional(),
  /** How much of a machine it may use; each a most. */
  resources: resourcesSchema.optional(),
  /** Whether its sandboxes have a root. */
  root: rootSchema.optional(),
  /** The most that a request may do with a folder of the host; left out, what its key may. */
  workspace: z.enum(WORKSPACE_REACH).optional(),
  /** `required` refuses where one of them cannot be held. */
  limits: limitsSchema.optional(),
  /** The only scope under which it is reused. */
  scope: reuseScopeSchema.optional(),
  ...careSchema,
  /** How many like it are kept ready, where its extension can. Only a profile says so. */
  pool: z.int().min(0).max(64).optional(),
  env: envSchema.optional(),
  labels: labelsSchema.optional(),
  /** How long it lives unless asked otherwise, and at most unless `maximumTtlMs` is said. */
  ttlMs: sandboxSpecSchema.shape.ttlMs.optional(),
  maximumTtlMs: sandboxSpecSchema.shape.ttlMs.optional(),
  /** The only extensions it runs on. */
  extensions: z.array(extensionIdSchema).optional(),
  routing: routingSchema.optional(),
  /** The most one sandbox may cost. */
  budgetMicroUsd: microUsdSchema.nonnegative().optional(),
  /** Who sees this profile; the whole org, unless said otherwise. Not inherited. */
  visibility: visibilitySchema.optional(),
});
export type Profile = z.infer<typeof profileSchema>;

/** A version as it was published: it never changes but for being deprecated. */
export const publishedProfileSchema = z.strictObject({
  name: profileNameSchema,
  version: z.int().positive(),
  /** sha256 of the resolved profile's canonical JSON, in hex. */
  digest: z.string().length(64),
  /** As it was written. */
  profile: profileSchema,
  /** With everything it extends. */
  resolved: profileSchema,
  builtIn: z.boolean(),
  publishedAtMs: z.int(),
  deprecatedAtMs: z.int().optional(),
});
export type PublishedProfile = z.infer<typeof publishedProfileSchema>;

/** A profile as the one who asks could use it now. */
export const offeredProfileSchema = publishedProfileSchema.extend({
  offer: z.strictObject({
    /** Best first. */
    candidates: z.array(z.strictObject({ extensionId: z.string(), microUsdPerHour: microUsdSchema })),
    /** Why there is none. */
    reason: z.string().optional(),
    /** From our own clock, over the last sandboxes of this version. */
    coldStart: z.strictObject({ medianMs: z.number(), samples: z.int().positive() }).optional(),
  }),
});
export type OfferedProfile = z.infer<typeof offeredProfileSchema>;

export const profileListSchema = z.strictObject({ profiles: z.array(offeredProfileSchema) });

/** The most that was seen of a sandbox, counted outside of it. */
export const usageSchema = z.strictObject({
  ranMs: z.int().nonnegative(),
  samples: z.int().nonnegative(),
  /** How often each program was started. */
  programs: z.record(z.string(), z.int().positive()),
  memoryBytes: z.int().nonnegative().optional(),
  pids: z.int().nonnegative().optional(),
  diskBytes: z.int().nonnegative().optional(),
  /** Processors used at once, over the busiest stretch between two samples. */
  cpus: z.number().nonnegative().optional(),
});
export type Usage = z.infer<typeof usageSchema>;

export const suggestionSchema = z.strictObject({
  profile: profileSchema,
  usage: usageSchema,
  /** What it cannot know, in words. */
  notes: z.array(z.string()),
});
export type Suggestion = z.infer<typeof suggestionSchema>;

/**
 * What became of a clause of somebody else's policy. `narrowed`: less is allowed than it says.
 * `unenforced`: it forbids something that is not forbidden here. Nothing is ever widened.
 */
const policyFindingSchema = z.strictObject({
  where: z.string(),
  what: z.enum(["narrowed", "unenforced"]),
  why: z.string(),
});
export type PolicyFinding = z.infer<typeof policyFindingSchema>;

/** A profile that allows nothing a policy does not, and what of the policy it is not. */
export const importedPolicySchema = z.strictObject({
  profile: profileSchema,
  findings: z.array(policyFindingSchema),
});
export type ImportedPolicy = z.infer<typeof importedPolicySchema>;

/** Which profile a sandbox is of. */
export const profileRecordSchema = z.strictObject({
  name: z.string(),
  version: z.int().positive(),
  digest: z.string(),
});

/** For editors: completes and checks a profile as it is typed. */
export function profileJsonSchema(): object {
  return z.toJSONSchema(profileSchema, { io: "input" });
}
