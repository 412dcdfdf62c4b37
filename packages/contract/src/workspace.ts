import { z } from "zod";

/**
 * `copy-on-write`: what the sandbox writes stays its own until it is applied. The last two are copies
 * of the folder: a `mirror` is brought to the same as the folder before and after each command, a
 * `remote` is seeded once and from then on the sandbox's own.
 */
export const WORKSPACE_MODES = ["read-only", "read-write", "copy-on-write", "mirror", "remote"] as const;
export const workspaceModeSchema = z.enum(WORKSPACE_MODES);
export type WorkspaceMode = z.infer<typeof workspaceModeSchema>;

const absolutePath = (what: string) =>
  z
    .string()
    .max(4096)
    .regex(/^\/[^\0]*$/, `${what} is an absolute path`);

/** A folder of the extension's host that the sandbox works on. Commands start there. */
export const workspaceSchema = z.strictObject({
  source: absolutePath("a workspace's source"),
  target: absolutePath("a workspace's target").default("/workspace"),
  mode: workspaceModeSchema.default("copy-on-write"),
  /** Also where the source is, holds or is part of what is kept from sandboxes: `~/.ssh`, `/etc`, `/`. Recorded. */
  allowSensitive: z.boolean().default(false),
  /** Of a copy-on-write one: before how many runs, the newest, one can go back. 0: before none but the first. */
  points: z.int().min(0).max(256).optional(),
});
export type Workspace = z.infer<typeof workspaceSchema>;

const kind = z.enum(["file", "directory", "symlink", "other"]);
const mode = z.int().min(0).max(0o7777);
const count = z.int().nonnegative();

/** How something in the workspace differs from the host's folder. Members with `old` are the host's. */
export const workspaceChangeSchema = z.object({
  /** Relative to the workspace. */
  path: z.string(),
  change: z.enum(["added", "changed", "deleted"]),
  type: kind,
  oldType: kind.optional(),
  mode: mode.optional(),
  oldMode: mode.optional(),
  size: count.optional(),
  oldSize: count.optional(),
  target: z.string().optional(),
  oldTarget: z.string().optional(),
  /** Lines, where it is text and they were asked for. */
  added: count.optional(),
  removed: count.optional(),
  /** Hunks as `diff -u` has them. */
  patch: z.string().optional(),
  binary: z.boolean().optional(),
  /** More than a mebibyte: its lines are not told. */
  large: z.boolean().optional(),
  /** The name is not UTF-8, and shown with U+FFFD. */
  lossy: z.boolean().optional(),
});
export type WorkspaceChange = z.infer<typeof workspaceChangeSchema>;

const paths = z.array(z.string().min(1).max(4096)).max(10_000).default([]);

export const changesBodySchema = z.strictObject({
  /** These and what is below them; everything, unless said. */
  paths,
  detail: z.enum(["names", "counts", "patch"]).default("names"),
});
export type ChangesOptions = z.input<typeof changesBodySchema>;

export const applyBodySchema = z.strictObject({
  paths,
  /** Overwrite what the host has changed meanwhile. */
  force: z.boolean().default(false),
});
export type ApplyOptions = z.input<typeof applyBodySchema>;

export const rollbackBodySchema = z.strictObject({
  paths,
  /** To before the run that a point is of, or the last one that changed something. Left out: before anything ran. */
  to: z.union([z.int().positive(), z.literal("last")]).optional(),
});
export type RollbackOptions = z.input<typeof rollbackBodySchema>;

/** What the workspace was before a run. Runs that change nothing share the next one's. */
export const pointSchema = z.object({
  /** Its number, which `to` of a rollback takes. */
  point: z.int().positive(),
  /** The run that began there, cut to a length; nothing of somebody else's. */
  argv: z.array(z.string()),
  atMs: z.int().nonnegative(),
  /** Copied for it. */
  bytes: count,
  /** How many things changed from there to the next one, or to now; left out where it is not known. */
  changed: count.optional(),
  /** Other runs were going on. */
  alongside: z.boolean().optional(),
  /** Why one cannot go back there. */
  missing: z.string().optional(),
  attachmentId: z.string().optional(),
});
export type Point = z.infer<typeof pointSchema>;

export const pointsSchema = z.object({
  /** The oldest first. */
  points: z.array(pointSchema),
  /** What all of them take on the sandbox's disk. */
  bytes: count,
});
export type Points = z.infer<typeof pointsSchema>;

const reasons = z.array(z.object({ path: z.string(), why: z.string() }));

export const appliedSchema = z.object({
  applied: count,
  /** The first thousand. */
  paths: z.array(z.string()),
  /** Only who names them gets them: what git would run, and links that lead out. */
  heldBack: reasons,
  /** Pipes, sockets and devices, which never leave a sandbox. */
  skipped: count,
});
export type Applied = z.infer<typeof appliedSchema>;

/** What an extension says of a folder it did not write to, because the host has changed it meanwhile. */
export const conflictsSchema = reasons;

export const rolledBackSchema = z.object({ restored: count });
export type RolledBack = z.infer<typeof rolledBackSchema>;

/** Of a sandbox whose workspace is copy-on-write; of others each refuses with `invalid_request`. */
export interface Changes {
  changes(options?: ChangesOptions): Promise<AsyncIterable<WorkspaceChange>>;
  /** All of it or nothing; `conflict` with every path where the host has changed it meanwhile. */
  apply(options?: ApplyOptions): Promise<Applied>;
  /** The workspace as it was before a run: whole, whoever dies meanwhile. `not_found` where there is no such point. */
  rollback(options?: RollbackOptions): Promise<RolledBack>;
  /** Before which runs one can go back. */
  points(): Promise<Points>;
}

export const syncedSchema = z.object({
  /** What came back to the host; the first thousand. */
  pulled: z.array(z.string()),
  /** How many things went in. */
  pushed: count,
  /** Both sides had changed it: the host's keeps its name, the sandbox's lies beside it. */
  kept: z.array(z.object({ path: z.string(), keptAs: z.string() })),
  /** What git on the host would run, and links that lead out: they stay inside. */
  heldBack: reasons,
  /** Pipes, sockets and devices, which never leave a sandbox. */
  skipped: count,
});
export type Synced = z.infer<typeof syncedSchema>;

/** Of a sandbox whose workspace is a mirror. */
export interface Mirror {
  /** Brings both sides to the same: all of what comes back to the host, or nothing. */
  sync(): Promise<Synced>;
}
