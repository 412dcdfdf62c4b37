import type { CreateContext, ImagesFacet, PullContext } from "@sandboxer/contract";
import type { Made } from "../root.ts";
import { type Ground, openGround, type StoreOptions } from "./ground.ts";
import { importImage } from "./import.ts";
import { pullImage } from "./pull.ts";
import { parseReference } from "./reference.ts";
import { createRemoval } from "./removal.ts";
import type { ImageRecord } from "./shelf.ts";
import { prepareTrimmings } from "./trimmings.ts";

export interface ImageStore extends ImagesFacet {
  /** What a sandbox of the image of this name is made of; it is pulled where it is not here. */
  madeOf(ref: string, context: Pick<CreateContext, "progress" | "signal">): Promise<Made>;
  /** Clears away what a pull left that died. */
  sweep(): Promise<void>;
  close(): void;
}

export function openImageStore(options: StoreOptions): ImageStore {
  const ground = openGround(options);
  const { shelf, layers, aside, flights, treesOf, describe } = ground;

  const find = async (ref: string): Promise<ImageRecord | undefined> => {
    const { name, digest } = parseReference(ref);
    const found = (await shelf.named(name)) ?? digest;
    const record = found === undefined ? undefined : await shelf.get(found);
    const there = record && (await Promise.all(record.layers.map(layers.facts)));
    return there?.every((one) => one !== undefined) ? record : undefined;
  };

  return {
    ...createRemoval(ground),
    async madeOf(ref, context) {
      const record = (await find(ref)) ?? (await pull(ground, ref, context));
      const { env, user, directory } = record.defaults;
      const lowers = [await prepareTrimmings(options.dir), ...treesOf(record)];
      const said = { ...(user && { user }), ...(directory && { directory }) };
      return { root: { lowers, mounts: [], tmpfs: ["/tmp"], addsUser: true, ...said }, env };
    },
    list: async () => Promise.all((await shelf.list()).map(describe)),
    pull: async (ref, context) => describe(await pull(ground, ref, context)),
    import: async (source, how) => describe(await importImage(ground, source, how)),
    sweep: () => aside.sweep(),
    close: () => flights.close(),
  };
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
