import { dirname } from "node:path/posix";
import { type FileEntry, type Files, SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { infoOf } from "./entry.ts";
import { readNames } from "./names.ts";
import { type Rpc, unary } from "./rpc.ts";
import { asUser, filesOf, pathOf, type Visit } from "./visit.ts";

const LONGEST_PATH = 4_096;
export const pathSchema = z.string().max(LONGEST_PATH).default("").transform(pathOf);
/** No path is long enough to lead further down. */
const DEEPEST = LONGEST_PATH / 2;
const depthSchema = z
  .int()
  .min(0)
  .max(2 ** 32 - 1)
  .default(1)
  .transform((depth) => Math.min(depth, DEEPEST));
/** So many at once are asked for their attributes. */
const AT_ONCE = 32;

async function told(visit: Visit, files: Files, path: string) {
  const entry = await files.stat(path, { ...asUser(visit), follow: false });
  return { entry: await infoOf(files, entry, await readNames(files), asUser(visit)) };
}

/** Folders before what is in them, names in order: as a walk meets them. */
function inOrder(one: FileEntry, other: FileEntry): number {
  const [left, right] = [one.path, other.path].map((path) => path.replaceAll("/", "\0"));
  return (left ?? "") < (right ?? "") ? -1 : 1;
}

async function listDir(visit: Visit, { path, depth }: { path: string; depth: number }) {
  const files = await filesOf(visit);
  const who = asUser(visit);
  const { type } = await files.stat(path, who);
  if (type !== "directory") throw new SandboxerError("not_a_directory", `path is not a directory: ${path}`);
  const [names, found] = await Promise.all([
    readNames(files),
    files.list(path, { ...who, depth: Math.max(1, depth) }),
  ]);
  const entries: object[] = [];
  const sorted = found.sort(inOrder);
  for (let at = 0; at < sorted.length; at += AT_ONCE) {
    const some = sorted.slice(at, at + AT_ONCE);
    entries.push(...(await Promise.all(some.map((entry) => infoOf(files, entry, names, who)))));
  }
  return { entries };
}

export const filesystemRpcs: Readonly<Record<string, Rpc>> = {
  "/filesystem.Filesystem/Stat": unary(z.object({ path: pathSchema }), async (visit, { path }) =>
    told(visit, await filesOf(visit), path),
  ),
  "/filesystem.Filesystem/ListDir": unary(z.object({ path: pathSchema, depth: depthSchema }), listDir),
  "/filesystem.Filesystem/MakeDir": unary(z.object({ path: pathSchema }), async (visit, { path }) => {
    const files = await filesOf(visit);
    const was = await files.stat(path, asUser(visit)).catch(() => undefined);
    if (was && was.type !== "directory") {
      throw new SandboxerError("invalid_request", `path already exists but it is not a directory: ${path}`);
    }
    const isNew = await files.mkdir(path, { ...asUser(visit), parents: true });
    if (!isNew) throw new SandboxerError("path_exists", `directory already exists: ${path}`);
    return told(visit, files, path);
  }),
  "/filesystem.Filesystem/Move": unary(
    z.object({ source: pathSchema, destination: pathSchema }),
    async (visit, { source, destination }) => {
      const files = await filesOf(visit);
      await files.stat(source, { ...asUser(visit), follow: false });
      await files.mkdir(dirname(destination), { ...asUser(visit), parents: true });
      await files.move(source, destination, asUser(visit));
      return told(visit, files, destination);
    },
  ),
  "/filesystem.Filesystem/Remove": unary(z.object({ path: pathSchema }), async (visit, { path }) => {
    const files = await filesOf(visit);
    await files.remove(path, { ...asUser(visit), recursive: true }).catch((error) => {
      if (SandboxerError.from(error).code !== "path_not_found") throw error;
    });
    return {};
  }),
};
