import { constants } from "node:fs";
import { lstat, open, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, posix, resolve } from "node:path";
import type { Workspace } from "@sandboxer/contract";

/** A work tree that `git worktree add` made: its history is in the folder of another. */
export interface LinkedWorktree {
  /** The repository's folder on this machine, free of links. */
  readonly repository: string;
  /** Where the work tree's `.git` leads to it inside. */
  readonly inside: string;
  /** What the repository calls this work tree. */
  readonly name: string;
}

const MOST_BYTES = 4096;
/** The machine's own, or of one life: nothing of a repository can be laid there. */
const NOT_OURS = /^\/(bin|boot|dev|etc|lib\w*|proc|run|sbin|sys|tmp|usr)(\/|$)/;

/**
 * What `.git` of a folder leads to, where it is a file: `none` where git finds nothing there inside.
 *
 * The folder's content may be anybody's, so its word alone leads nowhere: the repository has to name
 * this very folder as one of its work trees, and be the folder in which it does so.
 */
export async function findLinkedWorktree({
  source,
  target,
}: Pick<Workspace, "source" | "target">): Promise<LinkedWorktree | "none" | undefined> {
  const link = join(source, ".git");
  const text = await readLine(link);
  if (text === undefined) return undefined;
  const named = /^gitdir: (.+)$/.exec(text)?.[1];
  if (named === undefined) return undefined;
  const inside = posix.resolve(target, named);
  // It stays in the folder, which is inside as a whole.
  if (inside.startsWith(`${posix.resolve(target)}/`)) return undefined;
  try {
    const own = await realpath(resolve(await realpath(source), named));
    const repository = dirname(dirname(own));
    const back = (await readLine(join(own, "gitdir"))) ?? "";
    const isOurs =
      basename(dirname(own)) === "worktrees" &&
      (await readLine(join(own, "commondir"))) === "../.." &&
      (await realpath(resolve(own, back))) === (await realpath(link)) &&
      (await lstat(join(repository, "objects"))).isDirectory() &&
      (await stat(join(repository, "HEAD"))).isFile();
    const place = posix.dirname(posix.dirname(inside));
    if (!isOurs || NOT_OURS.test(place) || place === "/") return "none";
    return { repository, inside: place, name: basename(own) };
  } catch {
    return "none";
  }
}

async function readLine(path: string): Promise<string | undefined> {
  return (await readSmall(path, MOST_BYTES))?.replace(/\n$/, "");
}

/** Of a plain file; nothing where there is none, or more than is honest. */
export async function readSmall(path: string, mostBytes = 2 ** 20): Promise<string | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(() => undefined);
  if (!file) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > mostBytes) return undefined;
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
