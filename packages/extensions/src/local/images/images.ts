import { realpathSync, statSync } from "node:fs";
import { type CreateContext, type Image, SandboxerError } from "@sandboxer/contract";
import { prepareHostImage } from "../host-image.ts";
import type { Made } from "../root.ts";
import type { ImageStore } from "./store.ts";

export interface Images {
  madeOf(image: Image, context: Pick<CreateContext, "progress" | "signal">): Promise<Made>;
}

/** On the hot path of every create: the host image is looked at once, a rootfs by one `stat`. */
export function openImages(imagesDir: string, store: ImageStore): Images {
  let host: Promise<Made> | undefined;
  return {
    async madeOf(image, context) {
      if (image.kind === "oci") return store.madeOf(image.ref, context);
      if (image.kind === "rootfs") {
        const root = { lowers: [checkRootfs(image.path)], mounts: [], tmpfs: ["/tmp"] };
        return { root, env: {} };
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

function checkRootfs(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory()) {
    throw new SandboxerError("invalid_request", `the rootfs ${path} is not a folder`);
  }
  if (realpathSync(path) === "/") {
    throw new SandboxerError("invalid_request", "the host's own root cannot be a sandbox's", {
      hint: "Use the `host` image: it shows the host's programs and nothing else of it.",
    });
  }
  return path;
}
