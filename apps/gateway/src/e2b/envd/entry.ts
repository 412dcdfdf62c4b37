import { Buffer } from "node:buffer";
import { basename, dirname, normalize, resolve } from "node:path/posix";
import { type FileEntry, type Files, SandboxerError } from "@sandboxer/contract";
import type { Names } from "./names.ts";

export const METADATA_PREFIX = "user.e2b.";
const TYPES = { file: "FILE_TYPE_FILE", directory: "FILE_TYPE_DIRECTORY" } as const;
const LETTERS = "rwxrwxrwx";

export interface EntryInfo {
  readonly name: string;
  readonly type?: (typeof TYPES)[keyof typeof TYPES];
  readonly path: string;
  readonly size?: string;
  readonly mode: number;
  readonly permissions: string;
  readonly owner: string;
  readonly group: string;
  readonly modifiedTime: string;
  readonly symlinkTarget?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

type AsUser = { readonly user?: string };

/** An entry as E2B tells it: a link looks like what it leads to. */
export async function infoOf(files: Files, entry: FileEntry, names: Names, who: AsUser): Promise<EntryInfo> {
  const isLink = entry.type === "symlink";
  const seen = isLink ? await files.stat(entry.path, { ...who, follow: true }).catch(() => undefined) : entry;
  const metadata = seen?.type === "file" ? await metadataOf(files, entry.path, who) : undefined;
  const { type, mode } = seen ?? entry;
  return {
    name: basename(normalize(entry.path)),
    ...((type === "file" || type === "directory") && { type: TYPES[type] }),
    path: normalize(entry.path),
    ...(entry.size > 0 && { size: String(entry.size) }),
    mode,
    permissions: permissionsOf(entry),
    owner: names.user(entry.uid),
    group: names.group(entry.gid),
    modifiedTime: new Date(entry.mtimeMs).toISOString(),
    ...(isLink && { symlinkTarget: resolve(dirname(entry.path), entry.target ?? "") }),
    ...(metadata && { metadata }),
  };
}

/** As `ls` and Go write it. */
function permissionsOf({ type, mode }: FileEntry): string {
  const first = type === "directory" ? "d" : type === "symlink" ? "L" : "-";
  return first + [...LETTERS].map((letter, at) => (mode & (0o400 >> at) ? letter : "-")).join("");
}

/** None is `undefined`, also where the file system keeps none. */
export async function metadataOf(
  files: Files,
  path: string,
  who: AsUser,
): Promise<Record<string, string> | undefined> {
  const all = await files.xattrs(path, who).catch((error) => {
    const { code } = SandboxerError.from(error);
    if (["permission_denied", "path_not_found", "unsupported", "extension_failed"].includes(code)) return {};
    throw error;
  });
  const ours = Object.entries(all).filter(([name]) => name.startsWith(METADATA_PREFIX));
  if (ours.length === 0) return undefined;
  return Object.fromEntries(
    ours.map(([name, value]) => [name.slice(METADATA_PREFIX.length), Buffer.from(value).toString("utf8")]),
  );
}

/** Every upload says the whole of it: what it does not say is gone. */
export async function setMetadata(
  files: Files,
  path: string,
  metadata: Readonly<Record<string, string>>,
  who: AsUser,
): Promise<void> {
  const before = (await metadataOf(files, path, who)) ?? {};
  for (const name of Object.keys(before)) {
    if (!(name in metadata)) await files.removeXattr(path, METADATA_PREFIX + name, who);
  }
  for (const [name, value] of Object.entries(metadata)) {
    await files.setXattr(path, METADATA_PREFIX + name, Buffer.from(value), who);
  }
}
