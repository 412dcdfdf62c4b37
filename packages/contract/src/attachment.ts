import { z } from "zod";
import { nameSchema, rowIdSchema, sandboxIdSchema } from "./ids.ts";
import { accessSchema, networkRuleSchema, secretNameSchema } from "./rights.ts";
import { sandboxSchema } from "./sandbox.ts";
import { MAXIMUM_TTL_MS } from "./spec.ts";

/** What an attachment may do inside; each within its principal's own. Left out, as much as that one may. */
const grants = {
  access: accessSchema,
  /** Names it may reach, where the sandbox may. */
  rules: z.array(networkRuleSchema).max(256).optional(),
  /** Secrets that are put into its requests, by name. */
  secrets: z.array(secretNameSchema).max(256).optional(),
};

/**
 * A principal's use of a sandbox. Several agents can share one sandbox and still differ in what
 * each may do: every exec and every outgoing connection carries (sandbox, attachment).
 */
export const attachmentSchema = z.strictObject({
  id: rowIdSchema,
  sandboxId: sandboxIdSchema,
  orgId: z.string(),
  principalId: z.string(),
  name: nameSchema.optional(),
  /** The conversation that uses it, in its harness's own words. */
  conversation: z.string().optional(),
  ...grants,
  /** Its user id inside; left out, the sandbox's ordinary user. */
  uid: z.int().positive().optional(),
  /** Who attached it. */
  byPrincipalId: z.string(),
  /** Made by the first use of a sandbox and not by `attach`. */
  implicit: z.boolean(),
  createdAtMs: z.int(),
  detachedAtMs: z.int().optional(),
});
export type Attachment = z.infer<typeof attachmentSchema>;

const shared = {
  ...grants,
  access: accessSchema.optional(),
  name: nameSchema.optional(),
  conversation: z.string().min(1).max(200).optional(),
  /** Whose use it is: the holder of this key, which is the caller's own or derived from it. */
  keyId: rowIdSchema.optional(),
  /**
   * Who it is inside: a user of its `own`, whose processes, connections and private files are nobody
   * else's, or the sandbox's `ordinary` one, as whom others act too. A read-only one is always its own.
   */
  user: z.enum(["own", "ordinary"]).optional(),
  /** When the last one leaves, the sandbox sleeps until somebody comes. */
  hibernate: z.boolean().default(true),
};
/** A request to create, which core checks as it checks any. */
const createSchema = z.record(z.string(), z.unknown()).default({});

/**
 * `fresh` makes a sandbox for it, `chosen` takes the one that is named, `shared` the living one of a
 * label (see `reuse`).
 */
export const attachBodySchema = z.discriminatedUnion("mode", [
  z.strictObject({
    mode: z.literal("fresh"),
    ...shared,
    create: createSchema,
    /** How long it is kept after the last one left; 0 ends it then. */
    retentionMs: z.int().min(0).max(MAXIMUM_TTL_MS).default(3_600_000),
  }),
  z.strictObject({ mode: z.literal("chosen"), ...shared, sandbox: nameSchema }),
  z.strictObject({ mode: z.literal("shared"), ...shared, create: createSchema }),
]);
export type AttachBody = z.input<typeof attachBodySchema>;
export type AttachRequest = z.output<typeof attachBodySchema>;

export const attachedSchema = z.strictObject({ attachment: attachmentSchema, sandbox: sandboxSchema });
export type Attached = z.infer<typeof attachedSchema>;

export const attachmentListSchema = z.strictObject({ attachments: z.array(attachmentSchema) });
