import { SandboxerError } from "@sandboxer/contract";
import type { Connection } from "../boxd/connection.ts";
import { content, upload } from "../boxd/content.ts";
import { openFiles } from "../boxd/files.ts";
import { type Side, sideOf } from "./facts.ts";
import type { Leaving } from "./host-folder.ts";

const DEEPEST = 256;
/** A request is one frame; a longer list of names is the whole folder, of which the rest is not taken. */
const MOST_NAMED_BYTES = 512 * 1024;

/** The folder's copy, through boxd inside: no path of it ever resolves on the host. */
export async function insideFolder(connection: Connection, target: string) {
  const files = openFiles(connection);
  const as = await rootOf(connection);
  /** Where root is nobody's there is one user, who makes the folder. */
  const isRoot = as.user !== undefined;
  const home = await files.stat(".", { follow: true });
  const prefix = target.replace(/^\/+/, "");
  return {
    /** Nothing at all where the folder itself is not there. */
    async list(): Promise<Side | undefined> {
      try {
        const entries = await files.list(target, { depth: DEEPEST, ...as });
        return sideOf(entries.map((entry) => ({ ...entry, path: entry.path.slice(target.length + 1) })));
      } catch (error) {
        if (SandboxerError.is(error) && error.code === "path_not_found") return undefined;
        throw error;
      }
    },
    async pack(paths: readonly string[]): Promise<AsyncIterable<Uint8Array>> {
      const isShort = paths.reduce((sum, path) => sum + path.length * 2 + 4, 0) < MOST_NAMED_BYTES;
      const stream = await connection.open("pack", { path: target, ...(isShort && { only: paths }), ...as });
      await stream.reply;
      return content(stream);
    },
    /** Whose everything is there, and how its names begin in what is unpacked. */
    leaving: (paths: readonly string[], gone: readonly string[]): Leaving => ({
      paths,
      gone,
      owner: { uid: home.uid, gid: home.gid },
      ...(isRoot && { prefix }),
    }),
    async unpack(archive: AsyncIterable<Uint8Array>): Promise<void> {
      const path = isRoot ? "/" : target;
      const stream = await connection.open("unpack", { path, layer: true, parents: !isRoot, ...as });
      await upload(stream, archive);
    },
  };
}
export type InsideFolder = Awaited<ReturnType<typeof insideFolder>>;

async function rootOf(connection: Connection): Promise<{ user?: string }> {
  try {
    await connection.call("stat", { path: "/", user: "root" });
    return { user: "root" };
  } catch (error) {
    const isNone = SandboxerError.is(error) && ["no_such_user", "permission_denied"].includes(error.code);
    if (isNone) return {};
    throw error;
  }
}
