import { join } from "node:path";
import { type Files, SandboxerError, type SandboxSpec } from "@sandboxer/contract";
import { upload } from "../_kit/boxd/content.ts";
import { openFiles } from "../_kit/boxd/files.ts";
import type { Connection } from "../_kit/boxd/index.ts";
import { hostFolder, type Pinned, pinFolder } from "../_kit/mirror/host-folder.ts";
import { sensitivePlaces } from "../_kit/sensitive.ts";
import { findLinkedWorktree, type LinkedWorktree, readSmall } from "./linked-worktree.ts";
import { plainGitConfig } from "./plain-git-config.ts";
import { entriesOf, MOST_ENTRIES } from "./repository-entries.ts";
import type { Root } from "./root.ts";
import { throughPinned } from "./through-pinned.ts";

/** Where the objects of the host's are inside, read-only. */
const OBJECTS = "host-objects";

export const NO_REPOSITORY =
  "workspace: its .git leads to a repository that is not here, so git does not work inside";
export const TOO_MANY_NAMES = `workspace: the repository that its .git leads to has more than ${MOST_ENTRIES} references in files of their own, so git does not work inside (\`git pack-refs --all\` in it helps)`;

export interface Repository extends LinkedWorktree {
  readonly pinned: Pinned;
}

interface Place {
  readonly boxdPath: string;
  readonly dir: string;
  readonly ownFolders: readonly string[];
}

/** Of a folder that is laid under the sandbox's own writes. `none`: it needs one that it cannot be given. */
export async function repositoryOf(
  { boxdPath, ownFolders }: Place,
  { workspace }: SandboxSpec,
): Promise<Repository | "none" | undefined> {
  if (workspace?.mode !== "copy-on-write") return undefined;
  const linked = await findLinkedWorktree(workspace);
  if (linked === undefined || linked === "none") return linked;
  try {
    return { ...linked, pinned: await pinFolder(boxdPath, linked.repository, sensitivePlaces(ownFolders)) };
  } catch (error) {
    if (SandboxerError.is(error) && error.code === "permission_denied") return "none";
    throw error;
  }
}

/** The objects of the repository, as the sandbox's user's and read-only. */
export function withObjects(
  root: Root,
  { repository, inside }: Repository,
  ownFolders: readonly string[],
): Root {
  const source = join(repository, "objects");
  const mount = { source, target: `${inside}/${OBJECTS}`, readOnly: true, judged: true, owned: true };
  return { ...root, ...sensitivePlaces(ownFolders), mounts: [...root.mounts, mount] };
}

/**
 * Everything else of it is copied to where `.git` leads, so that what git writes is the sandbox's own:
 * it is kept, copied and destroyed with its other files, and the host's repository never sees it.
 * Where it came with what the sandbox is a copy of, it stays as it is: a reference of the host's would
 * be in the way of one that was packed inside, or bring back one that was deleted. False where it has too many names to be copied.
 */
export async function seedRepository(
  { boxdPath, dir }: Place,
  { inside, name, pinned }: Repository,
  connection: Connection,
  target: string,
): Promise<boolean> {
  const files = openFiles(connection);
  if (await isThere(files, `${inside}/HEAD`)) return true;
  const paths = await throughPinned(pinned, (folder) => entriesOf(folder, name));
  if (!paths) return false;
  const { uid, gid } = await files.stat(".", { follow: true });
  const leaving = { paths, gone: [], owner: { uid, gid }, prefix: inside.replace(/^\/+/, "") };
  const stream = await connection.open("unpack", { path: "/", layer: true, owner: true });
  await upload(stream, hostFolder(boxdPath, dir, pinned).pack(leaving));
  const write = (path: string, line: string) =>
    files.write(`${inside}/${path}`, [new TextEncoder().encode(`${line}\n`)], { parents: true });
  for (const path of ["config", `worktrees/${name}/config.worktree`]) {
    const text = await throughPinned(pinned, (folder) => readSmall(join(folder, path)));
    if (text !== undefined) await write(path, plainGitConfig(text).trimEnd());
  }
  await write("objects/info/alternates", `${inside}/${OBJECTS}`);
  await write(`worktrees/${name}/gitdir`, `${target.replace(/\/+$/, "")}/.git`);
  return true;
}

async function isThere(files: Files, path: string): Promise<boolean> {
  try {
    await files.stat(path);
    return true;
  } catch (error) {
    if (SandboxerError.is(error) && error.code === "path_not_found") return false;
    throw error;
  }
}
