import { stat } from "node:fs/promises";
import { type CreateContext, type Image, SandboxerError } from "@sandboxer/contract";
import { prepareHostImage } from "../host-image.ts";
import type { Made, Sensitive } from "../root.ts";
import type { ImageStore } from "./store.ts";

export interface Images {
  madeOf(image: Image, context: Pick<CreateContext, "progress" | "signal">): Promise<Made>;
}

/** On the hot path of every create: the host image is looked at once, a rootfs by one `stat`. */
export function openImages(imagesDir: string, store: ImageStore, sensitive: Sensitive): Images {
  let host: Promise<Made> | undefined;
  return {
    async madeOf(image, context) {
      if (image.kind === "oci") return store.madeOf(image.ref, context);
      if (image.kind === "rootfs") {
        const found = await stat(image.path).catch(() => undefined);
        if (found?.isFile()) return store.madeOfTarball(image.path);
        if (!found?.isDirectory()) {
          throw new SandboxerError(
            "invalid_request",
            `the rootfs ${image.path} is neither a folder nor an archive`,
          );
        }
        const folder = { lowers: [image.path], judgesLowers: true, addsUser: true, ...sensitive };
        return { root: { ...folder, mounts: [], tmpfs: ["/tmp"] }, env: {} };
      }
      host ??= prepareHostImage(imagesDir).then(
        (root) => ({ root, env: {} }),
        (error) => {
          host = undefined;
          throw error;
        },
      );
      return host;
    },
  };
}
