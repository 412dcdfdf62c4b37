import { z } from "zod";
import { ERROR_CODES, type ErrorCode } from "./errors.ts";
import { fileEntrySchema } from "./files.ts";
import { nameSchema } from "./ids.ts";
import { sandboxStateSchema } from "./lifecycle.ts";
import { microUsdSchema } from "./money.ts";
import { consumerSchema, visibilitySchema } from "./principal.ts";
import { execRequestSchema, exitSchema, processInfoSchema, signalSchema } from "./process.ts";
import { profileRefSchema, RESERVED_FIELDS } from "./profile.ts";
import { resourcesSchema } from "./resources.ts";
import { reuseSchema } from "./reuse.ts";
import { routingSchema } from "./routing.ts";
import { sandboxSchema } from "./sandbox.ts";
import { sandboxRequestSchema } from "./spec.ts";

/** What goes over HTTP. The gateway checks requests with it, the SDK answers. */

export const createBodySchema = sandboxRequestSchema.extend({
  name: nameSchema.optional(),
  consumer: consumerSchema.optional(),
  visibility: visibilitySchema.optional(),
  /** What it is to be; everything else then only narrows it. */
  profile: profileRefSchema.optional(),
  routing: routingSchema.optional(),
  /** The living sandbox of this label, where there is one of the same profile. */
  reuse: reuseSchema.optional(),
  /** The most it may cost in all. */
  budgetMicroUsd: microUsdSchema.nonnegative().optional(),
});
export type CreateBody = z.input<typeof createBodySchema>;

/**
 * The same without a default filled in: core must still see what was asked and what was not. It
 * also answers for the reserved words, which are no misspelling.
 */
export const createRequestSchema = z.strictObject({
  ...Object.fromEntries(RESERVED_FIELDS.map((field) => [field, z.unknown().optional()])),
  ...Object.fromEntries(
    Object.entries(createBodySchema.shape).map(([name, schema]) => [
      name,
      schema instanceof z.ZodDefault ? schema.unwrap().optional() : schema,
    ]),
  ),
  resources: resourcesSchema.optional(),
}) as unknown as z.ZodType<CreateBody>;

export const listQuerySchema = z.strictObject({
  state: z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(sandboxStateSchema))
    .optional(),
  /** Of those that live at most one is the caller's own; the others are over. */
  name: nameSchema.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: z.string().optional(),
});

export const listAnswerSchema = z.strictObject({
  sandboxes: z.array(sandboxSchema),
  /** Pass as `after` for the next page; absent on the last. */
  next: z.string().optional(),
});

export const execBodySchema = execRequestSchema;

/**
 * One line of the NDJSON answer to `exec`. Bytes travel as base64. An empty line means only that
 * the process is still there: without one, clients take a long silence for a lost connection.
 */
export const execLineSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("started"), process: z.string(), pid: z.int().optional() }),
  z.strictObject({
    type: z.enum(["stdout", "stderr"]),
    offset: z.int().nonnegative(),
    data: z.base64(),
  }),
  z.strictObject({ type: z.literal("exit"), exit: exitSchema }),
  /** The stream broke after it had begun; an HTTP status can no longer say so. */
  z.strictObject({ type: z.literal("error"), error: z.lazy(() => errorSchema) }),
]);
export type ExecLine = z.infer<typeof execLineSchema>;

export const processListSchema = z.strictObject({ processes: z.array(processInfoSchema) });

export const writtenSchema = z.strictObject({ bytes: z.int().nonnegative() });
export const madeSchema = z.strictObject({ created: z.boolean() });
export const listingSchema = z.strictObject({ entries: z.array(fileEntrySchema) });

/** What was done needs no other answer. */
export const emptySchema = z.strictObject({});

/** Values travel as base64. */
export const xattrsAnswerSchema = z.strictObject({ xattrs: z.record(z.string(), z.base64()) });

export const signalBodySchema = z.strictObject({ signal: signalSchema });

export const errorSchema = z.object({
  code: z.enum(ERROR_CODES as [ErrorCode, ...ErrorCode[]]),
  message: z.string(),
  hint: z.string(),
  details: z.record(z.string(), z.unknown()).default({}),
  requestId: z.string().optional(),
});
export const errorAnswerSchema = z.object({ error: errorSchema });

export const healthSchema = z.object({ status: z.literal("ok"), version: z.string() });
