import { z } from "zod";
import { microUsdSchema } from "./money.ts";

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
