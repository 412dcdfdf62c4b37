import { realpathSync, statSync } from "node:fs";
import { type Image, SandboxerError } from "@sandboxer/contract";
import { prepareHostImage } from "./host-image.ts";
import type { Root } from "./root.ts";

export interface Images {
  rootOf(image: Image): Promise<Root>;
}

/** On the hot path of every create: the host image is looked at once, a rootfs by one `stat`. */
export function openImages(imagesDir: string): Images {
  let host: Promise<Root> | undefined;
  return {
    async rootOf(image) {
      if (image.kind === "oci") throw notYet();
      if (image.kind === "rootfs") return { lowers: [checkRootfs(image.path)], mounts: [], tmpfs: ["/tmp"] };
      host ??= prepareHostImage(imagesDir).catch((error) => {
        host = undefined;
        throw error;
      });
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

/** The router asks nobody for an image its manifest does not list; this is for who calls directly. */
function notYet(): SandboxerError {
  return new SandboxerError("unsupported", "the local engine takes host and rootfs images");
}
