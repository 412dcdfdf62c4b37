import { chmodSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type ErrorCode, SandboxerError } from "@sandboxer/contract";

const MEANINGS: Readonly<Record<string, ErrorCode>> = {
  ENOENT: "path_not_found",
  EEXIST: "not_a_directory",
  ENOTDIR: "not_a_directory",
  EACCES: "permission_denied",
  EPERM: "permission_denied",
  EROFS: "permission_denied",
  ENOSPC: "storage_full",
};

/** For its owner alone. */
export function makeHome(home: string): void {
  try {
    makeFolder(home);
    chmodSync(home, 0o700);
  } catch (cause) {
    const { code: why = "" } = cause as NodeJS.ErrnoException;
    const code = MEANINGS[why];
    if (!code) throw cause;
    const hint = "It is a folder of yours, or one that you can make; SANDBOXER_HOME names another.";
    throw new SandboxerError(code, `${home} cannot be this installation's home: ${why}`, { hint, cause });
  }
}

/** Not with `recursive`: Node tries for ever where a folder is there and takes no other, as in /proc. */
function makeFolder(path: string): void {
  if (isFolder(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Somebody else has made it meanwhile.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
