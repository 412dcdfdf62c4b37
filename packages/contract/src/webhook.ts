import { z } from "zod";
import { eventSchema, eventTypeSchema } from "./events.ts";
import { nameSchema } from "./ids.ts";

export const createWebhookBodySchema = z.strictObject({
  name: nameSchema.optional(),
  /** https only, and never an address inside a network. */
  url: z.url().max(2_000),
  /** Only these; left out, all. */
  types: z.array(eventTypeSchema).min(1).optional(),
});
export type CreateWebhookBody = z.input<typeof createWebhookBodySchema>;

export const webhookSchema = z.strictObject({
  id: z.string(),
  orgId: z.string(),
  name: nameSchema.optional(),
  url: z.string(),
  types: z.array(eventTypeSchema).optional(),
  /** Delivered up to here. */
  cursorSeq: z.int().nonnegative(),
  createdAtMs: z.int(),
  /** Failed deliveries of the event it is at. */
  attempts: z.int().nonnegative(),
  lastError: z.string().optional(),
  /** Given up, or told by the receiver that it is gone. */
  disabledAtMs: z.int().optional(),
});
export type Webhook = z.infer<typeof webhookSchema>;

/** The secret that signs deliveries, as Standard Webhooks writes it; shown only here. */
export const createdWebhookSchema = z.strictObject({ webhook: webhookSchema, secret: z.string() });
export const webhookListSchema = z.strictObject({ webhooks: z.array(webhookSchema) });

export const eventPageSchema = z.strictObject({ events: z.array(eventSchema) });

/** What walking the org's whole chain showed. */
export const auditSchema = z.strictObject({
  events: z.int().nonnegative(),
  /** To be kept elsewhere: it is what shows that the newest end was not cut off. */
  headHash: z.string(),
  /** The first event that is not as it was written. */
  brokenSeq: z.int().optional(),
});
export type Audit = z.infer<typeof auditSchema>;
