import { chmod, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** A folder is there before its container is, which may be pulled for by another process: it gets time. */
const GRACE_MS = 3_600_000;
const ID = /^[a-z0-9]{20}$/;

/** One folder for each container, for the socket on which its boxd listens. */
export function socketFolders(dir: string) {
  const of = (ref: string) => join(dir, ref);
  return {
    of,
    async make(ref: string): Promise<string> {
      await mkdir(of(ref), { recursive: true, mode: 0o700 });
      await chmod(of(ref), 0o700);
      return of(ref);
    },
    remove: (ref: string) => rm(of(ref), { recursive: true, force: true }),
    /** Clears away those of containers that ended by themselves, or never came to be. */
    async keepOf<T extends { readonly ref: string }>(list: () => Promise<T[]>): Promise<T[]> {
      const names = (await readdir(dir).catch(() => [])).filter((name) => ID.test(name));
      const boxes = await list();
      const living = new Set(boxes.map(({ ref }) => ref));
      for (const name of names.filter((one) => !living.has(one))) {
        const { mtimeMs } = await stat(of(name)).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
        if (Date.now() - mtimeMs > GRACE_MS) await rm(of(name), { recursive: true, force: true });
      }
      return boxes;
    },
  };
}
