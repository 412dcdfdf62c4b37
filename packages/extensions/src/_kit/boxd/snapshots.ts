import type { LayerKind, Snapshots } from "@sandboxer/contract";
import type { Connection } from "./connection.ts";
import { content, upload } from "./content.ts";

/** serve reads and writes layers from inside, so no path of one ever resolves on the host. */
export function openSnapshots(connection: Connection, workspaceTarget = "/workspace", below = 0): Snapshots {
  return {
    below,
    async capture(kind: LayerKind, { below = 0, mostBytes } = {}) {
      const limits = mostBytes === undefined ? {} : { limits: { bytes: mostBytes } };
      const stream = await (kind === "root"
        ? connection.open("capture", { below, ...limits })
        : connection.open("layer", limits));
      await stream.reply;
      return content(stream);
    },
    async restore(kind, layer) {
      const path = kind === "root" ? "/" : workspaceTarget;
      const stream = await connection.open("unpack", { path, layer: true, owner: true });
      await upload(stream, layer);
    },
  };
}
