import { z } from "zod";
import { rowIdSchema } from "./ids.ts";

export const volumeNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,62}$/, "a volume's name is 1 to 63 letters, digits, _ . and -");

/** Files that outlive every sandbox that works on them. Its owner's, and whose above it. */
export const volumeSchema = z.strictObject({
  id: rowIdSchema,
  orgId: z.string(),
  principalId: z.string(),
  name: volumeNameSchema,
  createdAtMs: z.int(),
});
export type Volume = z.infer<typeof volumeSchema>;

export const createVolumeBodySchema = z.strictObject({ name: volumeNameSchema });
export type CreateVolumeBody = z.input<typeof createVolumeBodySchema>;

export const volumeListSchema = z.strictObject({ volumes: z.array(volumeSchema) });

/** Where a sandbox sees one. Several may work on the same at once, each sees what the others write. */
const mountSchema = z.strictObject({
  /** By id or name. */
  volume: z.string().min(1).max(63),
  target: z
    .string()
    .max(4_096)
    .regex(/^\/[^\0]+$/, "a volume's target is an absolute path"),
});
export const volumeMountsSchema = z.array(mountSchema).max(16);

/** The same, found: the id, and the folder of the extension's host that it is. */
export const foundVolumesSchema = z.array(mountSchema.extend({ source: z.string().optional() })).max(16);
