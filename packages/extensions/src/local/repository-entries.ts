import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** What git needs of a repository besides its objects, which are many and never change. */
const COPIED = ["HEAD", "description", "hooks", "info", "packed-refs", "refs", "reftable", "shallow"];
export const MOST_ENTRIES = 20_000;

/**
 * Names below the repository, folders first; nothing where they are too many. Of the work trees only
 * this one's. A journal tells where a reference was before: git does without.
 */
export async function entriesOf(repository: string, name: string): Promise<string[] | undefined> {
  const needed = await namesBelow(repository, [...COPIED, "worktrees", `worktrees/${name}`], MOST_ENTRIES);
  if (!needed) return undefined;
  const journals = await namesBelow(repository, ["logs"], MOST_ENTRIES - needed.length);
  return [...needed, ...(journals ?? [])];
}

async function namesBelow(
  repository: string,
  wanted: readonly string[],
  most: number,
): Promise<string[] | undefined> {
  const found: string[] = [];
  const visit = async (path: string): Promise<void> => {
    if (path.endsWith("/config.worktree") || found.length > most) return;
    found.push(path);
    if (path === "worktrees") return;
    const below = await readdir(join(repository, path)).catch(() => []);
    for (const name of below) await visit(`${path}/${name}`);
  };
  for (const path of wanted) await visit(path);
  return found.length > most ? undefined : found;
}
