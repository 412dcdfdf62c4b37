import { z } from "zod";

export const fileEntrySchema = z.object({
  path: z.string(),
  type: z.enum(["file", "directory", "symlink", "other"]),
  size: z.int().nonnegative(),
  /** Permission bits only, as in 0o644. */
  mode: z.int().min(0).max(0o7777),
  uid: z.int().nonnegative(),
  gid: z.int().nonnegative(),
  mtimeMs: z.number(),
  /** Where a symlink points. */
  target: z.string().optional(),
});
export type FileEntry = z.infer<typeof fileEntrySchema>;

/** Bytes as they come; a single array is a source of one part. */
export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface AsUser {
  /** Whose rights count. The sandbox's ordinary user, unless said otherwise. */
  readonly user?: string;
}

export interface ReadOptions extends AsUser {
  readonly offset?: number;
  readonly length?: number;
}

export interface WriteOptions extends AsUser {
  readonly mode?: number;
  readonly append?: boolean;
  /** Make missing folders on the way. */
  readonly parents?: boolean;
}

export interface FileContent {
  /** Of the whole file, not of the range asked for. */
  readonly size: number;
  readonly mode: number;
  readonly mtimeMs: number;
  readonly data: AsyncIterable<Uint8Array>;
}

/**
 * What happened to a path. A move is `removed`, said to be `moved` where that can be told, and
 * `created`. After `overflow` something was missed: look again at what matters.
 */
export const fileChangeSchema = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["created", "changed", "attributes"]), path: z.string() }),
  z.object({ type: z.literal("removed"), path: z.string(), moved: z.literal(true).optional() }),
  z.object({ type: z.literal("overflow") }),
]);
export type FileChange = z.infer<typeof fileChangeSchema>;

export interface FileWatch {
  /** From now on, until `close` or until the folder itself is gone. One reader. */
  readonly changes: AsyncIterable<FileChange>;
  close(): void;
}

export interface UnpackOptions extends AsUser {
  /** Make the folder, and those above it, where missing. */
  readonly parents?: boolean;
}

export const unpackedSchema = z.object({
  entries: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  /** Devices, pipes and the like: none is ever made from an archive. */
  skipped: z.int().nonnegative(),
});
export type Unpacked = z.infer<typeof unpackedSchema>;

/** Every path is resolved inside the sandbox; no path ever resolves on the host. */
export interface Files {
  read(path: string, options?: ReadOptions): Promise<FileContent>;
  /** Without `append`, the file appears whole or not at all. Resolves to the bytes written. */
  write(path: string, source: ByteSource, options?: WriteOptions): Promise<number>;
  stat(path: string, options?: { readonly follow?: boolean } & AsUser): Promise<FileEntry>;
  list(path: string, options?: { readonly depth?: number } & AsUser): Promise<FileEntry[]>;
  /** `false` when it was there already. */
  mkdir(
    path: string,
    options?: { readonly parents?: boolean; readonly mode?: number } & AsUser,
  ): Promise<boolean>;
  move(from: string, to: string, options?: AsUser): Promise<void>;
  remove(path: string, options?: { readonly recursive?: boolean } & AsUser): Promise<void>;
  chmod(path: string, mode: number, options?: AsUser): Promise<void>;
  /** Makes a link at `path`; `stat` without `follow` tells where one points. */
  symlink(path: string, target: string, options?: AsUser): Promise<void>;
  /** The attributes named `user.…`; no others can be seen or set. */
  xattrs(path: string, options?: AsUser): Promise<Record<string, Uint8Array>>;
  setXattr(path: string, name: string, value: Uint8Array, options?: AsUser): Promise<void>;
  removeXattr(path: string, name: string, options?: AsUser): Promise<void>;
  watch(path: string, options?: { readonly recursive?: boolean } & AsUser): Promise<FileWatch>;
  /** A tar archive of a folder's content, or of one file. */
  pack(path: string, options?: AsUser): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Unpacks a tar archive into a folder, inside and with the user's rights. No link is followed
   * and nothing lands elsewhere; what would is refused, and what came before it stays.
   */
  unpack(path: string, source: ByteSource, options?: UnpackOptions): Promise<Unpacked>;
}
