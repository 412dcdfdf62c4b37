import { lstatSync, renameSync, rmSync } from "node:fs";
import { chmod, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SandboxerError } from "@sandboxer/contract";

/** A folder is there before its container is, which may be pulled for by another process: it gets time. */
const GRACE_MS = 3_600_000;
const NAME = /^([a-z0-9]{20})(\.sock)?$/;

/** One folder for each container, in which its boxd makes the socket that it listens on. */
export function socketFolders(dir: string) {
  const of = (ref: string) => join(dir, ref);
  const first = (ref: string) => join(of(ref), "box.sock");
  const taken = (ref: string) => join(dir, `${ref}.sock`);
  return {
    /**
     * Where a boxd that has just been started will listen. Nothing else runs inside yet, so what is there
     * is its own; and it stays there until it listens, for gVisor looks for it between making and that.
     */
    first,
    /**
     * Where its boxd is reached. The sandbox's root may write in its folder, and lay a link there to
     * another's socket: what is dialled is moved out of its reach, before anything runs inside.
     */
    take(ref: string): string {
      const path = taken(ref);
      if (isSocket(path)) return path;
      try {
        renameSync(first(ref), path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
      // Nothing yet, or nothing any more: nobody listens.
      if (isSocket(path) || !lstatSync(path, { throwIfNoEntry: false })) return path;
      rmSync(path, { recursive: true, force: true });
      throw new SandboxerError("extension_failed", `where ${ref} would listen there is something else`);
    },
    async make(ref: string): Promise<string> {
      await mkdir(of(ref), { recursive: true, mode: 0o700 });
      await chmod(of(ref), 0o700);
      return of(ref);
    },
    async remove(ref: string): Promise<void> {
      for (const path of [of(ref), taken(ref)]) await rm(path, { recursive: true, force: true });
    },
    /** Clears away those of containers that ended by themselves, or never came to be. */
    async keepOf<T extends { readonly ref: string }>(list: () => Promise<T[]>): Promise<T[]> {
      const names = await readdir(dir).catch(() => []);
      const boxes = await list();
      const living = new Set(boxes.map(({ ref }) => ref));
      for (const name of names) {
        const ref = NAME.exec(name)?.[1];
        if (ref === undefined || living.has(ref)) continue;
        const path = join(dir, name);
        const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
        if (Date.now() - mtimeMs > GRACE_MS) await rm(path, { recursive: true, force: true });
      }
      return boxes;
    },
  };
}

function isSocket(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;
}
