import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Stored } from "@sandboxer/contract";
import type { Hold } from "./hold.ts";

const BLOCK_BYTES = 512;

/** What sandboxes and the layers that they share take on this machine. */
export async function storedIn(dir: string, hold: Hold): Promise<Stored[]> {
  const { boxes } = (await hold.call("list")) as { boxes: Record<string, unknown>[] };
  const users = (layer: string) =>
    boxes.filter(({ layers }) => Array.isArray(layers) && layers.includes(layer)).map(({ id }) => String(id));
  const sandboxes = boxes.map(async ({ id, stopped }) => ({
    kind: "sandbox" as const,
    id: String(id),
    bytes: await bytesBelow(join(dir, "boxes", String(id))),
    usedBy: [],
    prunable: false,
    note: stopped === true ? "stopped" : "running",
  }));
  const names = await readdir(join(dir, "layers")).catch(() => []);
  const layers = names.map(async (id) => ({
    kind: "layer" as const,
    id,
    bytes: await bytesBelow(join(dir, "layers", id)),
    usedBy: users(id),
    prunable: false,
  }));
  return Promise.all([...sandboxes, ...layers]);
}

/** As far as it can be looked into: what is a running sandbox's own may be closed to us. */
async function bytesBelow(path: string): Promise<number> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return 0;
  const own = found.blocks * BLOCK_BYTES;
  if (!found.isDirectory()) return own;
  let total = own;
  for (const name of await readdir(path).catch(() => [])) total += await bytesBelow(join(path, name));
  return total;
}
