import {
  type CreateContext,
  type ImagesFacet,
  type PullContext,
  SandboxerError,
  type Stored,
} from "@sandboxer/contract";
import type { Sensitive } from "../../_kit/sensitive.ts";
import { identifyHost } from "../host-image.ts";
import type { Made } from "../root.ts";
import { type Ground, openGround, type StoreOptions } from "./ground.ts";
import { importImage } from "./import.ts";
import { pullImage } from "./pull.ts";
import { parseReference } from "./reference.ts";
import { createRemoval } from "./removal.ts";
import type { ImageRecord } from "./shelf.ts";
import { type Lying, storedImages } from "./stored.ts";
import { imageOfTarball } from "./tarball.ts";
import { prepareTrimmings } from "./trimmings.ts";

export interface ImageStore extends ImagesFacet {
  /** What a sandbox of the image of this name is made of; it is pulled where it is not here. */
  madeOf(ref: string, context: Pick<CreateContext, "progress" | "signal">): Promise<Made>;
  /** The same of the image that a file is an archive of. */
  madeOfTarball(path: string): Promise<Made>;
  /** The folder with what is kept of a setup. */
  treeOfSetup(key: string): Promise<string | undefined>;
  /** What is kept here, for who lies on it. */
  stored(lying: readonly Lying[]): Promise<Stored[]>;
  /** Clears away what a process left that died. */
  sweep(): Promise<void>;
  close(): void;
}

export function openImageStore(options: StoreOptions, sensitive: Sensitive): ImageStore {
  const ground = openGround(options);
  const { shelf, layers, setups, aside, flights, treesOf, describe } = ground;

  const find = async (ref: string): Promise<ImageRecord | undefined> => {
    const { name, digest } = parseReference(ref);
    const found = (await shelf.named(name)) ?? digest;
    const record = found === undefined ? undefined : await shelf.get(found);
    const there = record && (await Promise.all(record.layers.map(layers.facts)));
    return there?.every((one) => one !== undefined) ? record : undefined;
  };

  const madeOf = async (record: ImageRecord): Promise<Made> => {
    const { env, user, directory } = record.defaults;
    const lowers = [await prepareTrimmings(options.dir, aside), ...treesOf(record)];
    const said = { ...(user && { user }), ...(directory && { directory }) };
    return { root: { lowers, mounts: [], tmpfs: ["/tmp"], addsUser: true, ...said }, env };
  };
  const removal = createRemoval(ground);
  const get = async (ref: string, context: PullContext): Promise<ImageRecord> => {
    try {
      return await pull(ground, ref, context);
    } catch (error) {
      // The layers that came are kept for the next try, but not where there is no room.
      if (SandboxerError.is(error) && error.code === "storage_full") await removal.prune();
      throw error;
    }
  };
  return {
    ...removal,
    async madeOf(ref, context) {
      const record = (await find(ref)) ?? (await get(ref, context));
      return madeOf(record);
    },
    madeOfTarball: async (path) => madeOf(await imageOfTarball(ground, path, sensitive)),
    list: async () => Promise.all((await shelf.list()).map(describe)),
    pull: async (ref, context) => describe(await get(ref, context)),
    import: async (source, how) => describe(await importImage(ground, source, how)),
    async identify(image, context) {
      if (image.kind === "host") return identifyHost(image.tools);
      if (image.kind === "rootfs") return undefined;
      return ((await find(image.ref)) ?? (await get(image.ref, context))).digest;
    },
    async imageOf(ref, name) {
      const lowers = await options.lowersOf(ref);
      const named = await shelf.named(parseReference(name).name);
      // Of two with the same layers, the one that is called so.
      const records = (await shelf.list()).sort(
        (a, b) => Number(b.digest === named) - Number(a.digest === named),
      );
      return records.find((record) => isOn(lowers, treesOf(record)))?.digest;
    },
    hasSetup: async (key) => (await setups.find(key)) !== undefined,
    keepSetup: (key, layer) => setups.keep(key, layer),
    async treeOfSetup(key) {
      const layer = await setups.find(key);
      return layer === undefined ? undefined : layers.treeOf(layer);
    },
    stored: (lying) => storedImages(ground, lying),
    async sweep() {
      // It may have had layers already that nothing leads to.
      if (await aside.sweep()) await removal.clear();
    },
    close: () => flights.close(),
  };
}

/** Over an image's trees there are what we add to each, and perhaps what a setup wrote: never another tree. */
function isOn(lowers: readonly string[], trees: readonly string[]): boolean {
  const over = lowers.length - trees.length;
  return trees.length > 0 && over >= 1 && over <= 2 && trees.every((tree, at) => lowers[over + at] === tree);
}

/** However many ask for a name, it is pulled once. */
function pull(ground: Ground, ref: string, waiting: PullContext): Promise<ImageRecord> {
  const { aside, layers, images, pass, flights, put } = ground;
  const reference = parseReference(ref);
  const fly = (signal: AbortSignal, say: (message: string) => void) =>
    aside.within(async () => {
      const record = await pullImage({ reference, layers, options: images, signal, say, pass });
      return put(record, [reference.name]);
    });
  return flights.join(reference.name, fly, waiting);
}
