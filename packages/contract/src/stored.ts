import { z } from "zod";

/** Something that takes room on the disk of an extension's host, or on the shelf. */
export const storedSchema = z.strictObject({
  kind: z.enum(["sandbox", "layer", "snapshot", "image", "setup", "volume"]),
  id: z.string(),
  /** What it takes, shared blocks counted for each; layers of images count for the first that has them. */
  bytes: z.int().nonnegative(),
  /** Sandboxes that need it; of a sandbox, none. */
  usedBy: z.array(z.string()),
  /** Whether `store prune` would remove it. */
  prunable: z.boolean(),
  note: z.string().optional(),
});
export type Stored = z.infer<typeof storedSchema>;

export const storeSchema = z.strictObject({ stored: z.array(storedSchema), bytes: z.int().nonnegative() });
export type StoreReport = z.infer<typeof storeSchema>;

export const pruneBodySchema = z.strictObject({
  /** Say what would go, and remove nothing. */
  dryRun: z.boolean().default(false),
});
export type PruneBody = z.input<typeof pruneBodySchema>;
