import {
  type ByteSource,
  type ImportImageOptions,
  imageListSchema,
  type KeptImage,
  keptImageSchema,
  type Pruned,
  type PullImageBody,
  prunedSchema,
  pullLineSchema,
  SandboxerError,
} from "@sandboxer/contract";
import type { Transport } from "./transport.ts";
import { uploadOf } from "./upload.ts";
import { valuesOf } from "./values.ts";

export interface ImageShelf {
  list(): Promise<readonly KeptImage[]>;
  /** From a registry; `hear` is told what goes on. */
  pull(
    ref: string,
    options?: Omit<PullImageBody, "ref"> & { hear?: (message: string) => void },
  ): Promise<KeptImage>;
  /** From one file: an OCI or docker archive, or with `kind: "rootfs"` a root's files. */
  import(source: ByteSource, options?: ImportImageOptions): Promise<KeptImage>;
  /** A name, or by the digest all of them. */
  remove(ref: string): Promise<KeptImage>;
  prune(): Promise<Pruned>;
}

export function openImageShelf(transport: Transport): ImageShelf {
  return {
    async list() {
      return (await transport.ask(imageListSchema, "GET", "/v1/images")).images;
    },
    async pull(ref, { hear, ...more } = {}) {
      const response = await transport.send("POST", "/v1/images/pull", { json: { ref, ...more } });
      for await (const line of valuesOf(response, pullLineSchema)) {
        if ("image" in line) return line.image;
        hear?.(line.message);
      }
      throw new SandboxerError("extension_failed", "the pull broke off");
    },
    async import(source, options = {}) {
      const call = { query: { ...options }, body: await uploadOf(source) };
      return transport.ask(keptImageSchema, "PUT", "/v1/images", call);
    },
    remove: (ref) => transport.ask(keptImageSchema, "DELETE", "/v1/images", { query: { ref } }),
    prune: () => transport.ask(prunedSchema, "POST", "/v1/images/prune"),
  };
}
