import { hostname } from "node:os";
import { join } from "node:path";
import { type Box, type Extension, type ListedBox, SandboxerError } from "@sandboxer/contract";
import { Connection, dial, openBox } from "../_kit/boxd/index.ts";
import { findBoxd } from "../_kit/boxd/path.ts";
import { createHold } from "./hold.ts";
import { openImages } from "./image.ts";
import { manifest } from "./manifest.ts";
import { probeHost } from "./probe.ts";

export interface LocalOptions {
  /** Where this installation's sandboxes live. */
  readonly dir: string;
  readonly boxdPath?: string;
}

/** Sandboxes on this machine, without docker, root or an account: boxd and the kernel. */
export function createLocalExtension({ dir, boxdPath = findBoxd() }: LocalOptions): Extension {
  const hold = createHold(dir, boxdPath);
  const images = openImages(join(dir, "images"));
  const hostId = hostname();

  const listed = async (): Promise<ListedBox[]> => {
    const { boxes } = await hold.call("list");
    return (boxes as Record<string, unknown>[]).map((box) => ({
      ref: String(box.id),
      sandboxId: String(box.id),
      hostId,
      installationId: String(box.installation),
      createdAtMs: Number(box.createdAtMs),
      expiresAtMs: Number(box.expiresAtMs),
    }));
  };

  /** Is it the sandbox that is over, or only this connection to it? */
  const explainClose = async (ref: string): Promise<SandboxerError> => {
    const boxes = await listed().catch(() => undefined);
    return boxes?.some((box) => box.ref === ref)
      ? new SandboxerError("extension_failed", "the connection to the sandbox was replaced or broke")
      : new SandboxerError("sandbox_gone", `the sandbox ${ref} is over`);
  };

  const attach = async (ref: string): Promise<Box> => {
    const socket = await dial(hold.socketOf(ref));
    if (!socket) throw new SandboxerError("not_found", `no sandbox ${ref} on this machine`);
    const connection = new Connection(socket, () => explainClose(ref));
    return openBox(connection, { ref, hostId, bestEffort: [] });
  };

  return {
    manifest,
    probe: () => probeHost(boxdPath),

    async create(spec, { sandboxId, installationId }) {
      const root = await images.rootOf(spec.image);
      const members = {
        id: sandboxId,
        installation: installationId,
        root,
        hostname: "sandbox",
        env: spec.env,
        ttlMs: spec.ttlMs,
        labels: spec.labels,
      };
      let connection: Connection;
      try {
        connection = await hold.create(members, () => explainClose(sandboxId));
      } catch (error) {
        // Asked twice with the same id there is still one sandbox, and it is this one.
        if (SandboxerError.is(error) && error.code === "conflict") return attach(sandboxId);
        throw error;
      }
      return openBox(connection, { ref: sandboxId, hostId, bestEffort: [] });
    },

    attach,
    list: listed,

    async destroy(ref) {
      await hold.call("destroy", { id: ref, graceMs: 0 });
    },

    async extend(ref, ttlMs) {
      await hold.call("extend", { id: ref, ttlMs });
    },

    async close() {
      hold.close();
    },
  };
}
