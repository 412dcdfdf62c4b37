import { dirname } from "node:path/posix";
import { collect, type Files, SandboxerError } from "@sandboxer/contract";
import { asUser, type Visit } from "./visit.ts";

const ORDINARY = "user";
const DEEPEST = 256;

/**
 * The folders above a file that is to be written. E2B's daemon is root and gives what it makes to
 * the user; here the user makes them, and only where that one may not does root, which then gives
 * them away. Who is denied root is told so.
 */
export async function makeWay(visit: Visit, files: Files, path: string): Promise<void> {
  const folder = dirname(path);
  try {
    await files.mkdir(folder, { ...asUser(visit), parents: true });
  } catch (error) {
    if (SandboxerError.from(error).code !== "permission_denied" || !folder.startsWith("/")) throw error;
    const missing = await missingAbove(files, folder);
    await files.mkdir(folder, { user: "root", parents: true });
    await giveAway(visit, missing);
  }
}

async function missingAbove(files: Files, folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = folder; missing.length < DEEPEST && at !== "/"; at = dirname(at)) {
    const isThere = await files.stat(at, { user: "root" }).then(
      () => true,
      () => false,
    );
    if (isThere) break;
    missing.push(at);
  }
  return missing;
}

async function giveAway(
  { ground, principal, sandbox, user = ORDINARY }: Visit,
  paths: string[],
): Promise<void> {
  if (paths.length === 0) return;
  const argv = ["chown", `${user}:`, "--", ...paths];
  await collect(await ground.core.exec(principal, sandbox.id, { argv, user: "root" }));
}
