import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Points, pointsSchema, SandboxerError, type Stored } from "@sandboxer/contract";
import { Connection, dial } from "../_kit/boxd/index.ts";
import type { Hold } from "./hold.ts";
import type { ImageStore } from "./images/store.ts";

const BLOCK_BYTES = 512;
/** Points are told of by the sandbox itself, and a report does not wait for one that is silent. */
const PATIENCE_MS = 2_000;

/** What sandboxes, the layers that they share, images and setups take on this machine. */
export async function storedIn(
  dir: string,
  hold: Hold,
  images: Pick<ImageStore, "stored">,
): Promise<Stored[]> {
  const { boxes } = (await hold.call("list")) as { boxes: Record<string, unknown>[] };
  const users = (layer: string) =>
    boxes.filter(({ layers }) => Array.isArray(layers) && layers.includes(layer)).map(({ id }) => String(id));
  const sandboxes = boxes.map(async (box) => ({
    kind: "sandbox" as const,
    id: String(box.id),
    bytes: await bytesBelow(join(dir, "boxes", String(box.id))),
    usedBy: [],
    prunable: false,
    note: box.stopped === true ? "stopped" : ["running", ...(await aboutPoints(box, hold))].join(", "),
  }));
  const names = await readdir(join(dir, "layers")).catch(() => []);
  const layers = names.map(async (id) => ({
    kind: "layer" as const,
    id,
    bytes: await bytesBelow(join(dir, "layers", id)),
    usedBy: users(id),
    prunable: false,
  }));
  const lying = boxes.map(({ id, lowers }) => ({ id: String(id), lowers: texts(lowers) }));
  return [...(await Promise.all([...sandboxes, ...layers])), ...(await images.stored(lying))];
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** What lies beside the layer of a copy-on-write workspace, on the sandbox's own disk: part of its bytes. */
async function aboutPoints(box: Record<string, unknown>, hold: Hold): Promise<string[]> {
  const { mode } = Object(box.workspace) as { mode?: unknown };
  if (mode !== "copy-on-write" || box.paused === true) return [];
  const { points, bytes } = await pointsOf(hold.socketOf(String(box.id)));
  return points.length > 0 ? [`${points.length} points of ${(bytes / 2 ** 20).toFixed(1)} MiB`] : [];
}

async function pointsOf(socketPath: string): Promise<Points> {
  const none = { points: [], bytes: 0 };
  const socket = await dial(socketPath);
  if (!socket) return none;
  const over = new SandboxerError("extension_unavailable", "the sandbox is silent");
  const connection = new Connection(socket, async () => over);
  const timer = setTimeout(() => connection.close(), PATIENCE_MS);
  try {
    await connection.hello;
    return pointsSchema.parse(await connection.call("points"));
  } catch {
    return none;
  } finally {
    clearTimeout(timer);
    connection.close();
  }
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
