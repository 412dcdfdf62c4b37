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

interface AsUser {
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
}
