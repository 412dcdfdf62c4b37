import { z } from "zod";
import { microUsdSchema } from "./money.ts";
import { consumerSchema } from "./principal.ts";
import { profileRecordSchema } from "./profile.ts";
import { reachedSchema } from "./reached.ts";
import { ROUTING_POLICIES } from "./routing.ts";

/** Where a sandbox ran and why there, what it reached, for how long, what it cost, and who asked for it. */
export const receiptSchema = z.strictObject({
  sandboxId: z.string(),
  name: z.string().optional(),
  state: z.string(),
  reason: z.string().optional(),
  who: z.strictObject({
    orgId: z.string(),
    principalId: z.string(),
    keyId: z.string().optional(),
    consumer: consumerSchema,
  }),
  profile: profileRecordSchema.optional(),
  /** Absent when no backend ever took it. */
  where: z.strictObject({ extensionId: z.string(), hostId: z.string(), ref: z.string() }).optional(),
  /** How the route was found, as it was logged when it was. */
  why: z.strictObject({
    policy: z.enum(ROUTING_POLICIES).optional(),
    candidates: z.array(z.string()),
    rejected: z.array(z.strictObject({ extensionId: z.string(), reason: z.string() })),
    attempts: z.array(z.looseObject({ extensionId: z.string(), tookMs: z.number() })),
    bestEffort: z.array(z.string()),
  }),
  /** As the guard saw it; a sandbox without a way out reached nothing. */
  reached: reachedSchema,
  when: z.strictObject({
    requestedAtMs: z.int(),
    startedAtMs: z.int().optional(),
    endedAtMs: z.int().optional(),
    ranMs: z.int().nonnegative(),
  }),
  cost: z.strictObject({
    microUsdPerHour: microUsdSchema.optional(),
    pausedMicroUsdPerHour: microUsdSchema.optional(),
    /** Charged so far; final once it is over. */
    chargedMicroUsd: microUsdSchema,
    heldMicroUsd: microUsdSchema,
    /** The account that paid. */
    accountId: z.string(),
    intervals: z.array(z.strictObject({ fromMs: z.int(), toMs: z.int(), microUsd: microUsdSchema })),
  }),
});
export type Receipt = z.infer<typeof receiptSchema>;
