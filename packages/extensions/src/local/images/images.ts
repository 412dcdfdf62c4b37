import type { BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import { type CreateContext, type Image, SandboxerError } from "@sandboxer/contract";
import type { Sensitive } from "../../_kit/sensitive.ts";
import { prepareHostImage } from "../host-image.ts";
import type { Identity, Made } from "../root.ts";
import type { ImageStore } from "./store.ts";
import { withTools } from "./tools.ts";

function identityOf(path: string, found: BigIntStats): Identity {
  const wordOf = ({ dev, ino, mtimeNs, ctimeNs }: BigIntStats) => [dev, ino, mtimeNs, ctimeNs].join(":");
  return { seen: wordOf(found), look: async () => wordOf(await stat(path, { bigint: true })) };
}

export interface Images {
  /** With what is kept under the `setupKey` on it, if it is there. */
  madeOf(
    image: Image,
    context: Pick<CreateContext, "progress" | "signal" | "setupKey">,
  ): Promise<Made & { readonly isSetUp: boolean }>;
}

/** On the hot path of every create: the host image is looked at once, a rootfs by one `stat`. */
export function openImages(imagesDir: string, store: ImageStore, sensitive: Sensitive): Images {
  let host: Promise<Made> | undefined;
  const plain = async (image: Image, context: Pick<CreateContext, "progress" | "signal">): Promise<Made> => {
    if (image.kind === "oci") return store.madeOf(image.ref, context);
    if (image.kind === "rootfs") {
      const found = await stat(image.path, { bigint: true }).catch(() => undefined);
      if (found?.isFile()) return store.madeOfTarball(image.path);
      if (!found?.isDirectory()) {
        throw new SandboxerError(
          "invalid_request",
          `the rootfs ${image.path} is neither a folder nor an archive`,
        );
      }
      const folder = { lowers: [image.path], judgesLowers: true, addsUser: true, ...sensitive };
      const identity = identityOf(image.path, found);
      return { root: { ...folder, mounts: [], tmpfs: ["/tmp"] }, env: {}, identity };
    }
    host ??= prepareHostImage(imagesDir).then(
      (root) => ({ root, env: {} }),
      (error) => {
        host = undefined;
        throw error;
      },
    );
    return withTools(await host, image.tools ?? [], sensitive);
  };
  return {
    async madeOf(image, context) {
      const made = await plain(image, context);
      const { setupKey } = context;
      const tree = setupKey === undefined ? undefined : await store.treeOfSetup(setupKey);
      if (tree === undefined) return { ...made, isSetUp: false };
      return {
        ...made,
        root: { ...made.root, lowers: [tree, ...made.root.lowers], setupLayers: 1 },
        isSetUp: true,
      };
    },
  };
}
