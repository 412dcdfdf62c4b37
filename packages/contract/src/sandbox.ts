import { z } from "zod";
import { nameSchema, sandboxIdSchema } from "./ids.ts";
import { sandboxStateSchema } from "./lifecycle.ts";
import { microUsdSchema } from "./money.ts";
import { consumerSchema, visibilitySchema } from "./principal.ts";
import { profileRecordSchema } from "./profile.ts";
import { reuseSchema } from "./reuse.ts";
import { sandboxSpecSchema } from "./spec.ts";

/** A sandbox as its owner sees it. */
export const sandboxSchema = z.strictObject({
  id: sandboxIdSchema,
  name: nameSchema.optional(),
  orgId: z.string(),
  principalId: z.string(),
  consumer: consumerSchema,
  visibility: visibilitySchema,
  team: z.string().optional(),
  profile: profileRecordSchema.optional(),
  /** Whoever asks for the same, and may, gets this one back. */
  reuse: reuseSchema.optional(),
  state: sandboxStateSchema,
  spec: sandboxSpecSchema,
  /** Where it runs; absent until a backend has taken it. */
  location: z.strictObject({ extensionId: z.string(), hostId: z.string(), ref: z.string() }).optional(),
  /** How deep a paused sandbox sleeps. */
  pauseDepth: z.enum(["memory", "disk"]).optional(),
  /** Asked as a preference, not in force on this host. */
  bestEffort: z.array(z.string()),
  createdAtMs: z.int(),
  startedAtMs: z.int().optional(),
  expiresAtMs: z.int().optional(),
  endedAtMs: z.int().optional(),
  /** Why it failed, was lost or ended. */
  reason: z.string().optional(),
  costMicroUsd: microUsdSchema.nonnegative(),
  /** The most it may cost in all; absent when only the budgets above it bind. */
  budgetMicroUsd: microUsdSchema.nonnegative().optional(),
});
export type Sandbox = z.infer<typeof sandboxSchema>;
