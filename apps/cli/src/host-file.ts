import { constants, createReadStream } from "node:fs";
import { access, lstat, open } from "node:fs/promises";
import { dirname } from "node:path";
import { type ErrorCode, SandboxerError } from "@sandboxer/contract";

const MEANINGS: Readonly<Record<string, ErrorCode>> = {
  ENOENT: "path_not_found",
  ENOTDIR: "not_a_directory",
  EISDIR: "is_a_directory",
  EEXIST: "path_exists",
  EACCES: "permission_denied",
  EPERM: "permission_denied",
  EROFS: "permission_denied",
  ENOSPC: "storage_full",
  EDQUOT: "storage_full",
};

/** A file of this machine, opened before anything else begins. */
export async function readHostFile(path: string): Promise<AsyncIterable<Uint8Array>> {
  const file = await open(path).catch((error) => {
    throw aboutPath(path, error);
  });
  if ((await file.stat()).isDirectory()) {
    await file.close();
    throw new SandboxerError("is_a_directory", `${path} is a folder`, { hint: "Name a file." });
  }
  return createReadStream(path, { fd: file });
}

/** Whether a file can be made there, asked before anything else begins. */
export async function needFolderOf(path: string): Promise<void> {
  const folder = dirname(path);
  await access(folder, constants.W_OK).catch((error) => {
    throw aboutPath(folder, error);
  });
}

/** What is there is somebody's: it is not written over unless that is said. */
export async function needNothingAt(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return;
  throw new SandboxerError("path_exists", `${path} is there already`, {
    hint: "Choose another name, or say --force to write over it.",
  });
}

/** An error of this machine's in the words of the error table; any other as it is. */
export function aboutPath(path: string, error: NodeJS.ErrnoException): unknown {
  const code = MEANINGS[error.code ?? ""];
  if (!code) return error;
  const isFull = code === "storage_full";
  const hint = isFull
    ? "Free some space, or name another place."
    : "Check the path; it is one of this machine's.";
  return new SandboxerError(code, `cannot use ${path}: ${error.code}`, { hint, cause: error });
}
