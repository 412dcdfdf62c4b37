import { z } from "zod";
import { approvalsSchema } from "./approval.ts";
import { extensionIdSchema } from "./ids.ts";
import { isolationClassSchema } from "./isolation.ts";
import { facetSchema } from "./manifest.ts";
import { networkSchema } from "./network.ts";
import { limitsSchema, resourcesRequestSchema, resourcesSchema } from "./resources.ts";
import { secretNameSchema } from "./rights.ts";
import { foundVolumesSchema, volumeMountsSchema } from "./volume.ts";
import { workspaceSchema } from "./workspace.ts";

/** Never starts with a dash: a reference is data for an API, and must not look like an option. */
export const imageRefSchema = z
  .string()
  .regex(/^[a-z0-9][\w./:@-]{0,254}$/i, "an image reference such as debian:12");

/**
 * `host` is a read-only view of this machine's own programs, `rootfs` a folder of the caller's, and
 * `oci` an image by the name its extension knows it under.
 */
export const imageSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("host"),
    /** More of this machine's folders, read-only and under their own names; each with a `bin` has it in PATH. */
    tools: z
      .array(z.string().startsWith("/", "a folder of tools is named by an absolute path"))
      .max(16)
      .optional(),
  }),
  z.strictObject({
    kind: z.literal("rootfs"),
    path: z.string().startsWith("/", "a rootfs is named by an absolute path"),
  }),
  z.strictObject({
    kind: z.literal("oci"),
    ref: imageRefSchema,
  }),
]);
export type Image = z.infer<typeof imageSchema>;

/** Whether it shows a sandbox a folder of this machine that somebody chose. */
export function namesHostFolder(image: Image | undefined): boolean {
  return image?.kind === "rootfs" || (image?.kind === "host" && (image.tools ?? []).length > 0);
}

export const envSchema = z.record(
  z.string().regex(/^[^=\0]+$/, "a variable's name has neither = nor NUL"),
  z.string().regex(/^[^\0]*$/, "a variable's value has no NUL"),
);

export const labelsSchema = z
  .record(z.string().min(1).max(63), z.string().max(255))
  .refine((labels) => Object.keys(labels).length <= 64, "at most 64 labels");

/** By name. Inside there are placeholders; the guard puts the secrets in where they are bound to. */
export const secretsSchema = z.array(secretNameSchema).max(64);

/**
 * Whether anything in the sandbox may be done as its root, which is nobody outside: by a caller who
 * names that user, or by `sudo` inside. Denied, neither works, for nobody.
 */
export const rootSchema = z.enum(["allowed", "denied"]);

export const MINIMUM_TTL_MS = 1_000;
export const MAXIMUM_TTL_MS = 7 * 24 * 3_600_000;

/**
 * `ephemeral` is gone at its end. `persistent` can be stopped: its processes end, its files stay, and
 * it can be started again, also after a restart of its machine. `checkpoint` leaves a snapshot
 * besides, each time it stops.
 */
export const persistenceSchema = z.enum(["ephemeral", "persistent", "checkpoint"]);
export type Persistence = z.infer<typeof persistenceSchema>;

export const DEFAULT_KEEP_MS = 30 * 24 * 3_600_000;
const MAXIMUM_KEEP_MS = 366 * 24 * 3_600_000;

const argvSchema = z.array(z.string().regex(/^[^\0]*$/, "no NUL")).min(1);

/** In words: what a sandbox is, how it was set up, what to do when something is amiss. */
export const runbookSchema = z.string().max(16_384);

/** What a request and a profile may say besides, all of it left out unless it is said. */
export const careSchema = {
  /** What becomes of one that can be stopped when its time is up or nobody uses it; `stop`, unless said. */
  atEnd: z.enum(["stop", "destroy"]).optional(),
  /** How long it is kept while it is stopped; 30 days, unless said. */
  keepMs: z.int().min(MINIMUM_TTL_MS).max(MAXIMUM_KEEP_MS).optional(),
  /** Which of its snapshots without a name stay: so many, the newest, and each for so long. */
  retain: z
    .strictObject({
      count: z.int().min(1).max(1_000).optional(),
      ageMs: z.int().min(MINIMUM_TTL_MS).max(MAXIMUM_KEEP_MS).optional(),
    })
    .optional(),
  /** Ends when nobody has used it for so long and nothing runs in it. */
  idleMs: z.int().min(MINIMUM_TTL_MS).max(MAXIMUM_TTL_MS).optional(),
  /** What it cannot do without: an extension that lacks one is no candidate. */
  facets: z.array(facetSchema).optional(),
  /** Run one after the other before anybody gets it; each must succeed. */
  setup: z.array(argvSchema).max(32).optional(),
  /** What must succeed in a fresh sandbox: run after a setup, before anybody gets it or its outcome is kept, and by `profiles verify`. */
  verify: z.array(argvSchema).max(32).optional(),
  /** Goes where the sandbox goes: into its copies, its snapshots and what is made of them. */
  runbook: runbookSchema.optional(),
} as const;

/**
 * What an extension is asked to start, complete: every default has been applied and every right
 * has narrowed it. Nothing in it is a wish.
 */
export const sandboxSpecSchema = z.strictObject({
  schema: z.literal(1),
  image: imageSchema,
  /** The least isolation class the caller accepts. */
  isolation: isolationClassSchema,
  persistence: persistenceSchema,
  /** Default deny. */
  network: networkSchema,
  /** None, unless said. */
  secrets: secretsSchema.optional(),
  /** Operations on it that wait for somebody else's word. */
  approvals: approvalsSchema.optional(),
  resources: resourcesSchema,
  /** Whether a limit that the extension cannot hold is a refusal. */
  limits: limitsSchema,
  /** Left out, it is allowed. */
  root: rootSchema.optional(),
  env: envSchema,
  labels: labelsSchema,
  /** None, unless said. */
  workspace: workspaceSchema.optional(),
  /** None, unless said. */
  volumes: foundVolumesSchema.optional(),
  /** The snapshot it starts from. */
  from: z.string().optional(),
  /** The sandbox that it began as a copy of. */
  forkOf: z.string().optional(),
  /** Mandatory: every sandbox ends by itself. */
  ttlMs: z.int().min(MINIMUM_TTL_MS, "at least 1s").max(MAXIMUM_TTL_MS, "at most 7d"),
  /** Extensions the caller accepts; left out means any. An empty list means none. */
  extensions: z.array(extensionIdSchema).optional(),
  ...careSchema,
  /** What it uses is written down at its end: what `profiles suggest` goes by. */
  audit: z.boolean().optional(),
  /** How many like it its profile wants kept ready. */
  pool: z.int().min(0).max(64).optional(),
});
export type SandboxSpec = z.infer<typeof sandboxSpecSchema>;

/** What a caller may send; everything has a safe default. */
export const sandboxRequestSchema = z.strictObject({
  name: z.string().optional(),
  image: imageSchema.default({ kind: "host" }),
  isolation: isolationClassSchema.default("process"),
  persistence: persistenceSchema.default("ephemeral"),
  network: networkSchema.default({ egress: "deny" }),
  secrets: secretsSchema.optional(),
  approvals: approvalsSchema.optional(),
  resources: resourcesRequestSchema,
  limits: limitsSchema.default("best-effort"),
  root: rootSchema.optional(),
  env: envSchema.default({}),
  labels: labelsSchema.default({}),
  workspace: workspaceSchema.optional(),
  volumes: volumeMountsSchema.optional(),
  /** A snapshot, by id or name, to start from. */
  from: z.string().max(63).optional(),
  ttlMs: sandboxSpecSchema.shape.ttlMs.default(3_600_000),
  extensions: z.array(extensionIdSchema).optional(),
  ...careSchema,
  audit: z.boolean().optional(),
});
