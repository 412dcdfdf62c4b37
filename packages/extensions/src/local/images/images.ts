import { stat } from "node:fs/promises";
import { type CreateContext, type Image, SandboxerError } from "@sandboxer/contract";
import type { Sensitive } from "../../_kit/sensitive.ts";
import { prepareHostImage } from "../host-image.ts";
import type { Made } from "../root.ts";
import type { Aside } from "./aside.ts";
import type { ImageStore } from "./store.ts";
import { withTools } from "./tools.ts";

/** Folders whose description is kept. */
const MOST_KNOWN = 64;

export interface Images {
  /**
   * With what is kept under the `setupKey` on it, if it is there. Unseen, a rootfs is taken for a
   * folder: hold refuses what is none, and `kindOf` says what it is.
   */
  madeOf(
    image: Image,
    context: Pick<CreateContext, "progress" | "signal" | "setupKey">,
    unseen?: boolean,
  ): Promise<Made & { readonly isSetUp: boolean }>;
}

/** Throws where there is nothing that a sandbox could be made of. */
export async function kindOf(path: string): Promise<"folder" | "archive"> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return "archive";
  if (found?.isDirectory()) return "folder";
  throw new SandboxerError("invalid_request", `the rootfs ${path} is neither a folder nor an archive`);
}

/** On the hot path of every create: the host image is looked at once, a rootfs not at all. */
export function openImages(imagesDir: string, store: ImageStore, sensitive: Sensitive, aside: Aside): Images {
  let host: Promise<Made> | undefined;
  const folders = new Map<string, Made>();
  const madeOfFolder = (path: string): Made => {
    const known = folders.get(path);
    if (known) return known;
    const folder = { lowers: [path], judgesLowers: true, addsUser: true, ...sensitive };
    const made = { root: { ...folder, mounts: [], tmpfs: ["/tmp"] }, env: {} };
    if (folders.size === MOST_KNOWN) folders.clear();
    folders.set(path, made);
    return made;
  };
  const plain = async (
    image: Image,
    context: Pick<CreateContext, "progress" | "signal">,
    unseen: boolean,
  ): Promise<Made> => {
    if (image.kind === "oci") return store.madeOf(image.ref, context);
    if (image.kind === "rootfs") {
      if (!unseen && (await kindOf(image.path)) === "archive") return store.madeOfTarball(image.path);
      return madeOfFolder(image.path);
    }
    host ??= prepareHostImage(imagesDir, aside).then(
      (root) => ({ root, env: {} }),
      (error) => {
        host = undefined;
        throw error;
      },
    );
    return withTools(await host, image.tools ?? [], sensitive);
  };
  return {
    async madeOf(image, context, unseen = false) {
      const made = await plain(image, context, unseen);
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
