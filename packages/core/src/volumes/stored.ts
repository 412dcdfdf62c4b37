import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Sandbox, Stored } from "@sandboxer/contract";
import type { House } from "../house.ts";

const BLOCK_BYTES = 512;

/** What volumes take, and who works on them. Those that nobody wrote to have no folder. */
export async function volumesStored(
  { volumesDir, store }: Pick<House, "volumesDir" | "store">,
  living: readonly Sandbox[],
): Promise<Stored[]> {
  if (volumesDir === undefined) return [];
  const ids = await readdir(volumesDir).catch(() => []);
  const each = ids.map(async (id): Promise<Stored[]> => {
    const volume = await store.getVolumeById(id);
    if (!volume) return [];
    const usedBy = living.flatMap((one) =>
      one.spec.volumes?.some((mount) => mount.volume === id) ? one.id : [],
    );
    const bytes = await bytesBelow(join(volumesDir, id));
    return [{ kind: "volume", id, bytes, usedBy, prunable: false, note: volume.name }];
  });
  return (await Promise.all(each)).flat();
}

/** Links are counted and never followed. One folder after the other: what is in them is anybody's. */
async function bytesBelow(path: string): Promise<number> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return 0;
  let total = found.blocks * BLOCK_BYTES;
  if (!found.isDirectory()) return total;
  for (const name of await readdir(path).catch(() => [])) total += await bytesBelow(join(path, name));
  return total;
}
