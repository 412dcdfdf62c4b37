import { z } from "zod";
import { snapshotSchema } from "./snapshot.ts";
import { runbookSchema } from "./spec.ts";

/** How a snapshot lies on disk and in its one file: an OCI layout, with these names of ours in it. */
export const SNAPSHOT_ANNOTATIONS = {
  image: "dev.sandboxer.image",
  labels: "dev.sandboxer.labels",
  runbook: "dev.sandboxer.runbook",
  kind: "dev.sandboxer.layer",
  signature: "dev.sandboxer.signature",
  key: "dev.sandboxer.key",
} as const;

export const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar";
export const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";

const { image, labels, runbook, kind, signature, key } = SNAPSHOT_ANNOTATIONS;
const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const descriptor = z.object({ mediaType: z.string(), digest, size: z.int().nonnegative() });

export const layoutFileSchema = z.object({ imageLayoutVersion: z.literal("1.0.0") });

export const layoutIndexSchema = z.object({
  manifests: z
    .array(
      descriptor.extend({
        mediaType: z.literal(MANIFEST_TYPE),
        annotations: z.object({ [signature]: z.base64(), [key]: z.base64() }),
      }),
    )
    .length(1),
});

export const layoutManifestSchema = z.object({
  config: descriptor,
  layers: z
    .array(
      descriptor.extend({
        mediaType: z.literal(LAYER_TYPE),
        annotations: z.object({ [kind]: z.enum(["root", "workspace"]) }),
      }),
    )
    .max(64),
  annotations: z.object({
    [image]: z.string(),
    [labels]: z.string().optional(),
    [runbook]: runbookSchema.optional(),
  }),
});

/** Beside a layout, and never exported: whose it is here. */
export const snapshotRecordSchema = z.strictObject({
  snapshot: snapshotSchema,
  seenBy: z.array(z.string()),
});
