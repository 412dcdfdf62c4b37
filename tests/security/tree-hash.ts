import { createHash } from "node:crypto";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";

/** Names, links and content of all that is in a folder. */
export async function treeHash(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = names.map((entry) => ({ path: join(entry.parentPath, entry.name), entry }));
  for (const { path, entry } of paths.sort((a, b) => (a.path < b.path ? -1 : 1))) {
    hash.update(`${path}\0`);
    if (entry.isFile()) hash.update(await readFile(path));
    if (entry.isSymbolicLink()) hash.update(await readlink(path));
  }
  return hash.digest("hex");
}
