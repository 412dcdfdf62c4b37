import { z } from "zod";
import { sandboxIdSchema } from "./ids.ts";

/** `noun.verb-past`. One ordered log per org, hash-chained, holds them all. */
export const EVENT_TYPES = [
  "sandbox.requested",
  "sandbox.preparing",
  "sandbox.created",
  "sandbox.reused",
  "sandbox.attached",
  "sandbox.detached",
  "sandbox.failed",
  "sandbox.paused",
  "sandbox.resumed",
  "sandbox.destroying",
  "sandbox.destroyed",
  "sandbox.expired",
  "sandbox.lost",
  "sandbox.audited",
  "sandbox.orphaned",
  "process.started",
  "workspace.applied",
  "snapshot.created",
  "snapshot.imported",
  "snapshot.deleted",
  "workspace.rolled-back",
  "sandbox.extended",
  "sandbox.network-changed",
  "budget.changed",
  "budget.exhausted",
  "profile.published",
  "profile.deprecated",
  "webhook.created",
  "webhook.deleted",
  "webhook.disabled",
  "access.denied",
  "approval.requested",
  "approval.approved",
  "approval.denied",
  "approval.used",
  "approval.expired",
  "approval.withdrawn",
  "elevation.started",
  "elevation.ended",
  "secret.set",
  "secret.rotated",
  "secret.granted",
  "secret.revoked",
  "secret.deleted",
  "secret.misused",
  "egress.caught",
  "org.created",
  "key.created",
  "key.revoked",
  "key.replaced",
] as const;
export const eventTypeSchema = z.enum(EVENT_TYPES);
export type EventType = z.infer<typeof eventTypeSchema>;

export const eventSchema = z.strictObject({
  id: z.string(),
  orgId: z.string(),
  /** Counts up from 1 within the org, without a gap. */
  seq: z.int().positive(),
  atMs: z.int(),
  type: eventTypeSchema,
  sandboxId: sandboxIdSchema.optional(),
  principalId: z.string().optional(),
  data: z.record(z.string(), z.unknown()),
  /** sha256 over the previous hash and this event's canonical JSON, in hex. */
  hash: z.string().length(64),
});
export type Event = z.infer<typeof eventSchema>;
