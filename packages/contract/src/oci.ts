import { z } from "zod";

/** What a registry or an archive says. None of it is believed before its digest is checked. */
export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/, "a sha256 digest");

const descriptor = z.object({
  mediaType: z.string().max(255),
  digest: digestSchema,
  size: z.int().nonnegative(),
});
export type OciDescriptor = z.infer<typeof descriptor>;

/** More layers than any tool makes, and fewer than an overlay takes. */
export const MOST_LAYERS = 127;

export const ociManifestSchema = z.object({
  schemaVersion: z.literal(2),
  config: descriptor,
  layers: z.array(descriptor).max(MOST_LAYERS),
});
export type OciManifest = z.infer<typeof ociManifestSchema>;

export const ociIndexSchema = z.object({
  schemaVersion: z.literal(2),
  manifests: z
    .array(
      descriptor.extend({
        platform: z
          .object({ architecture: z.string(), os: z.string(), variant: z.string().optional() })
          .optional(),
        annotations: z.record(z.string(), z.string()).optional(),
      }),
    )
    .max(1_000),
});
export type OciIndex = z.infer<typeof ociIndexSchema>;

const words = z.array(z.string()).nullish();

export const ociConfigSchema = z.object({
  architecture: z.string(),
  os: z.string(),
  created: z.string().optional(),
  config: z
    .object({
      User: z.string().nullish(),
      Env: words,
      WorkingDir: z.string().nullish(),
      Entrypoint: words,
      Cmd: words,
    })
    .nullish(),
  rootfs: z.object({ type: z.literal("layers"), diff_ids: z.array(digestSchema).max(MOST_LAYERS) }),
});
export type OciConfig = z.infer<typeof ociConfigSchema>;

/** `manifest.json` of an archive that docker wrote. */
export const dockerArchiveSchema = z
  .array(
    z.object({
      Config: z.string(),
      RepoTags: z.array(z.string()).nullish(),
      Layers: z.array(z.string()).max(MOST_LAYERS),
    }),
  )
  .min(1);
