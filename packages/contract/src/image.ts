import { z } from "zod";
import { extensionIdSchema } from "./ids.ts";
import { digestSchema } from "./oci.ts";
import { envSchema, type Image, imageRefSchema } from "./spec.ts";

/** An image that an extension keeps, so that sandboxes can be made of it at once. */
export const keptImageSchema = z.strictObject({
  extensionId: extensionIdSchema,
  /** Of its manifest: which image it is, whatever it is called. */
  digest: digestSchema,
  /** What it goes by here; none once all its names lead to newer ones. */
  names: z.array(z.string()),
  platform: z.string(),
  keptSinceMs: z.int(),
  /** Unpacked, with what it shares with others. */
  bytes: z.int().nonnegative(),
  layers: z.int().nonnegative(),
  /** What its sandboxes start with unless they are asked for otherwise. */
  defaults: z.strictObject({
    env: envSchema,
    user: z.string().optional(),
    directory: z.string().optional(),
  }),
  /** What it would run by itself: written down, and never run. */
  entrypoint: z.array(z.string()),
  command: z.array(z.string()),
  /** Devices and the like that were left out, and files that would have been set-user-id. */
  skipped: z.int().nonnegative(),
  stripped: z.int().nonnegative(),
  /** `collapsed`: all its files belong to one user, because this machine lends no others. */
  owners: z.enum(["kept", "collapsed"]),
  /** How many sandboxes are made of it now. */
  users: z.int().nonnegative(),
});
export type KeptImage = z.infer<typeof keptImageSchema>;

export const imageListSchema = z.strictObject({ images: z.array(keptImageSchema) });

/** Left out, the first extension that keeps images. */
const extensionId = extensionIdSchema.optional();

export const pullImageBodySchema = z.strictObject({ ref: imageRefSchema, extensionId });
export type PullImageBody = z.input<typeof pullImageBodySchema>;

export const importImageOptionsSchema = z.strictObject({
  /** What it is to be called here; an archive may have a name of its own. */
  name: imageRefSchema.optional(),
  /** An archive as OCI or docker write them, or of a root's files. */
  kind: z.enum(["image", "rootfs"]).default("image"),
  extensionId,
});
export type ImportImageOptions = z.input<typeof importImageOptionsSchema>;

export const imageQuerySchema = z.strictObject({ ref: z.string().min(1).max(300), extensionId });
export type ImageQuery = z.input<typeof imageQuerySchema>;

export const prunedSchema = z.strictObject({
  images: z.array(digestSchema),
  layers: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
});
export type Pruned = z.infer<typeof prunedSchema>;

/** One line of a pull: what is going on, and at the end the image. */
export const pullLineSchema = z.union([
  z.strictObject({ message: z.string() }),
  z.strictObject({ image: keptImageSchema }),
]);
export type PullLine = z.infer<typeof pullLineSchema>;

export interface PullContext {
  readonly signal?: AbortSignal | undefined;
  readonly progress?: ((message: string) => void) | undefined;
}

/** The facet `images`, of the extension and not of a box. */
export interface ImagesFacet {
  list(): Promise<Omit<KeptImage, "extensionId">[]>;
  /** By name or digest; gets it from where the operator allows, newer or not. */
  pull(ref: string, context: PullContext): Promise<Omit<KeptImage, "extensionId">>;
  import(
    source: AsyncIterable<Uint8Array>,
    options: { readonly name?: string | undefined; readonly kind?: "image" | "rootfs" | undefined },
  ): Promise<Omit<KeptImage, "extensionId">>;
  /** Of one name, or of all by the digest. `conflict` while a sandbox is made of it. */
  remove(ref: string): Promise<Omit<KeptImage, "extensionId">>;
  /** What has no name and no sandbox. */
  prune(): Promise<Pruned>;
  /**
   * What a sandbox of this image would be made of, in a word that changes when that does; the image
   * is pulled where it is not here. Nothing where that cannot be said.
   */
  identify(image: Image, context: PullContext): Promise<string | undefined>;
  /** The digest of the image that this sandbox lies on, whatever the name that it was asked by leads to now. */
  imageOf(ref: string, name: string): Promise<string | undefined>;
  /** Whether something is kept under this key, for `CreateContext.setupKey`. */
  hasSetup(key: string): Promise<boolean>;
  /** Keeps all that a setup wrote, a layer as `Snapshots.capture` gives it. */
  keepSetup(key: string, layer: AsyncIterable<Uint8Array>): Promise<void>;
}
