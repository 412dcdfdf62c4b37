import type { ByteSource, Synced } from "@sandboxer/contract";
import { headed, MOST_BYTES_BACK, recoverApplies } from "../boxd/applies.ts";
import { askBoxd, readBoxd } from "../boxd/command.ts";
import { linesOf } from "../boxd/lines.ts";
import type { Sensitive } from "../sensitive.ts";
import { type Fact, type Side, sideOf } from "./facts.ts";

const LONGEST_LINE = 64 * 1024;

/** The very folder, whatever its names come to lead to. */
export interface Pinned {
  readonly source: string;
  /** Numbers larger than ours: told as text. */
  readonly device: string;
  readonly inode: string;
  readonly uid: number;
  readonly gid: number;
}

export interface Landed extends Pick<Synced, "kept" | "heldBack" | "skipped"> {
  readonly applied: number;
  readonly paths: string[];
  /** The folder had something else here than was said; nothing was done. */
  readonly changed: readonly { readonly path: string }[];
}

/** Something to be taken from inside: to its own place, where the folder had `was`, or beside it. */
export interface Taken {
  readonly path: string;
  readonly was?: Fact;
  readonly beside?: string;
}

export interface Returning {
  readonly take: readonly Taken[];
  readonly gone: readonly { readonly path: string; readonly was: Fact }[];
}

export interface Leaving {
  readonly paths: readonly string[];
  readonly gone: readonly string[];
  /** Whose everything is inside. */
  readonly owner: { readonly uid: number; readonly gid: number };
  /** The folder inside, where it is part of the archive's names. */
  readonly prefix?: string;
}

/** A folder of this machine, through boxd, which neither follows links nor leaves the filesystem. */
export function hostFolder(boxdPath: string, dir: string, pinned: Pinned) {
  return {
    async list(): Promise<Side> {
      const entries: (Fact & { path: string })[] = [];
      for await (const line of linesOf(readBoxd(boxdPath, ["mirror", "--list"], pinned), LONGEST_LINE)) {
        entries.push(JSON.parse(line));
      }
      return sideOf(entries);
    },
    pack: (leaving: Leaving): AsyncIterable<Uint8Array> =>
      readBoxd(boxdPath, ["mirror", "--pack"], { ...pinned, ...leaving }),
    async land(returning: Returning, archive: ByteSource): Promise<Landed> {
      await recoverApplies(boxdPath, dir);
      const header = JSON.stringify({ ...pinned, ...returning, bytes: MOST_BYTES_BACK });
      const answer = await askBoxd(boxdPath, ["apply", "--mirror", dir], headed(header, archive));
      return answer as unknown as Landed;
    },
  };
}
export type HostFolder = ReturnType<typeof hostFolder>;

/** Refused where it is, holds or is part of what is kept from sandboxes. */
export async function pinFolder(boxdPath: string, source: string, sensitive: Sensitive): Promise<Pinned> {
  const header = { source, target: "/", mode: "read-only", ...sensitive };
  let text = "";
  for await (const part of readBoxd(boxdPath, ["mirror", "--pin"], header)) text += Buffer.from(part);
  const { device, inode, uid, gid, source: path } = JSON.parse(text) as Pinned;
  return { source: path, device, inode, uid, gid };
}
