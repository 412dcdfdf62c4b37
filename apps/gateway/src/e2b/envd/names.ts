import { Buffer } from "node:buffer";
import type { Files } from "@sandboxer/contract";

const MAXIMUM_BYTES = 1 << 20;

/** What a sandbox calls its users and groups. An id without a name stands for itself. */
export interface Names {
  user(uid: number): string;
  group(gid: number): string;
}

export async function readNames(files: Files): Promise<Names> {
  const [users, groups] = await Promise.all([read(files, "/etc/passwd"), read(files, "/etc/group")]);
  return {
    user: (uid) => users.get(String(uid)) ?? String(uid),
    group: (gid) => groups.get(String(gid)) ?? String(gid),
  };
}

/** The same form in both files: name, password, id. */
async function read(files: Files, path: string): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  try {
    const parts: Uint8Array[] = [];
    for await (const part of (await files.read(path, { length: MAXIMUM_BYTES })).data) parts.push(part);
    for (const line of Buffer.concat(parts).toString("utf8").split("\n")) {
      const [name, , id] = line.split(":");
      if (name && id && !names.has(id)) names.set(id, name);
    }
  } catch {
    // An image without these files has ids and no names.
  }
  return names;
}
