import type { Stored } from "@sandboxer/contract";
import type { Ground } from "./ground.ts";

/** A sandbox, and the folders that it lies on. */
export interface Lying {
  readonly id: string;
  readonly lowers: readonly string[];
}

/** What images and setups take, and who lies on them. */
export async function storedImages(
  { shelf, layers, setups, treesOf }: Pick<Ground, "shelf" | "layers" | "setups" | "treesOf">,
  lying: readonly Lying[],
): Promise<Stored[]> {
  const counted = new Set<string>();
  const bytesOf = async (diffIds: readonly string[]): Promise<number> => {
    const fresh = diffIds.filter((diffId) => !counted.has(diffId));
    for (const diffId of fresh) counted.add(diffId);
    const facts = await Promise.all(fresh.map(layers.facts));
    return facts.reduce((sum, one) => sum + (one?.bytes ?? 0), 0);
  };
  const onTop = (tree = "") => lying.filter(({ lowers }) => lowers.includes(tree)).map(({ id }) => id);
  const names = [...(await shelf.names())];
  const stored: Stored[] = [];
  for (const record of (await shelf.list()).sort((a, b) => a.keptSinceMs - b.keptSinceMs)) {
    const { digest: id, layers: diffIds } = record;
    const [top] = treesOf(record);
    const called = names.flatMap(([name, digest]) => (digest === id ? name : [])).sort();
    const note = called.join(" ") || "no name: `images prune` removes it when no sandbox is made of it";
    const bytes = await bytesOf(diffIds);
    stored.push({ kind: "image", id, bytes, usedBy: onTop(top), prunable: false, note });
  }
  for (const layer of new Set((await setups.list()).values())) {
    const usedBy = onTop(layers.treeOf(layer));
    stored.push({ kind: "setup", id: layer, bytes: await bytesOf([layer]), usedBy, prunable: false });
  }
  return stored;
}
