import { z } from "zod";
import { extensionIdSchema } from "./ids.ts";
import { isolationClassSchema } from "./isolation.ts";
import { microUsdSchema } from "./money.ts";
import { leastIsolationSchema, trustTierSchema } from "./trust.ts";

/**
 * How candidates are ranked: our own capacity first, the cheapest first, or in the order in which
 * the request names them.
 */
export const ROUTING_POLICIES = ["prefer-self-hosted", "lowest-cost", "explicit"] as const;

export const routingSchema = z.strictObject({
  policy: z.enum(ROUTING_POLICIES).optional(),
  /** What costs more is no candidate. */
  maximumMicroUsdPerHour: microUsdSchema.nonnegative().optional(),
});
export type Routing = z.infer<typeof routingSchema>;

/** The way a create would take, and why no other. */
export const routePlanSchema = z.strictObject({
  policy: z.enum(ROUTING_POLICIES),
  /** Of an agent: how far it is known, and what isolation that asks for. */
  trust: z.strictObject({ tier: trustTierSchema, isolation: leastIsolationSchema }).optional(),
  /** Best first. */
  candidates: z
    .array(
      z.strictObject({
        extensionId: extensionIdSchema,
        hosting: z.enum(["self", "vendor"]),
        isolation: isolationClassSchema,
        microUsdPerHour: microUsdSchema,
        /** While it is paused; left out, the same. */
        pausedMicroUsdPerHour: microUsdSchema.optional(),
      }),
    )
    .readonly(),
  rejected: z.array(z.strictObject({ extensionId: extensionIdSchema, reason: z.string() })).readonly(),
});
export type RoutePlan = z.infer<typeof routePlanSchema>;
