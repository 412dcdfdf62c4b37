import { type ImagesFacet, SandboxerError } from "@sandboxer/contract";
import type { Ground } from "./ground.ts";
import { parseReference } from "./reference.ts";

export interface Removal extends Pick<ImagesFacet, "remove" | "prune"> {
  /** What nothing leads to; setups are kept. */
  clear(): Promise<void>;
}

/** Nothing goes that a sandbox lies on, and no layer that an image still has. */
export function createRemoval(ground: Ground): Removal {
  const { shelf, layers, setups, flights, aside, lowersInUse, countUsers, describe } = ground;

  const clearLayers = async (): Promise<{ layers: number; bytes: number }> => {
    // Another process has layers here before it says what they are of.
    if (await aside.isUsedByOthers()) return { layers: 0, bytes: 0 };
    const used = new Set((await lowersInUse()).flat());
    const wanted = new Set((await shelf.list()).flatMap((record) => record.layers));
    for (const layer of (await setups.list()).values()) wanted.add(layer);
    const cleared = { layers: 0, bytes: 0 };
    for (const diffId of await layers.list()) {
      if (wanted.has(diffId) || used.has(layers.treeOf(diffId))) continue;
      cleared.bytes += (await layers.facts(diffId))?.bytes ?? 0;
      cleared.layers += 1;
      await layers.remove(diffId);
    }
    return cleared;
  };

  const clearNameless = async (): Promise<string[]> => {
    const named = new Set((await shelf.names()).values());
    const images: string[] = [];
    for (const record of await shelf.list()) {
      if (named.has(record.digest) || (await countUsers(record)) > 0) continue;
      await shelf.remove(record.digest);
      images.push(record.digest);
    }
    return images;
  };

  return {
    clear: () =>
      flights.alone(async () => {
        // Another process writes an image down before it says its name.
        if (await aside.isUsedByOthers()) return;
        await clearNameless();
        await clearLayers();
      }),

    remove: (ref) =>
      flights.alone(async () => {
        const names = await shelf.names();
        const name = ref.startsWith("sha256:") ? undefined : parseReference(ref).name;
        const digest = name === undefined ? ref : names.get(name);
        const record = digest === undefined ? undefined : await shelf.get(digest);
        if (!record) throw new SandboxerError("not_found", `there is no image ${ref}`);
        const image = await describe(record);
        const leading = image.names.filter((one) => name === undefined || one === name);
        const isLast = leading.length === image.names.length;
        if (isLast && (await countUsers(record)) > 0) {
          throw new SandboxerError("conflict", `sandboxes are made of ${ref}`, {
            hint: "End them first, or let `images prune` remove it later.",
          });
        }
        for (const one of leading) await shelf.forget(one);
        if (isLast) {
          await shelf.remove(record.digest);
          await clearLayers();
        }
        return image;
      }),

    prune: () =>
      flights.alone(async () => {
        const images = await clearNameless();
        const used = new Set((await lowersInUse()).flat());
        for (const [key, layer] of await setups.list()) {
          if (!used.has(layers.treeOf(layer))) await setups.remove(key);
        }
        return { images, ...(await clearLayers()) };
      }),
  };
}
