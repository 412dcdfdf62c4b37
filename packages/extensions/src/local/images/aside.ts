import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { askBoxd } from "../../_kit/boxd/command.ts";
import type { PassLocalFailPoint } from "../failpoint.ts";

/** Where things are made before they get their place, and go when they lose it. */
export interface Aside {
  /** A new folder in it. */
  make(): Promise<string>;
  /** What `write` makes at the path it is given gets its place at once and as a whole, or not at all. */
  place(path: string, write: (draft: string) => Promise<void>): Promise<void>;
  /** Removes a folder, whoever its files belong to: out of sight first, at once and as a whole. */
  remove(path: string): Promise<void>;
  /** Says to other processes, as long as it works, that something is under way here. */
  within<T>(work: () => Promise<T>): Promise<T>;
  isUsedByOthers(): Promise<boolean>;
  /** Clears away what was in it when a process died; says whether one did. */
  sweep(): Promise<boolean>;
}

const NAME = /^(\d+)-(\d+)-\d+$/;

/** Each folder has the name of its process in it, so that nobody clears away another's. */
export function openAside(dir: string, boxdPath: string, pass: PassLocalFailPoint = () => {}): Aside {
  let count = 0;
  const own = async (): Promise<string> => {
    count += 1;
    const number = count;
    await mkdir(dir, { recursive: true, mode: 0o700 });
    return join(dir, `${process.pid}-${await startOf(process.pid)}-${number}`);
  };
  const remove = async (path: string): Promise<void> => {
    const grave = await own();
    try {
      await rename(path, grave);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      throw error;
    }
    await askBoxd(boxdPath, ["unpack", "--remove", grave]);
  };
  const make = async (): Promise<string> => {
    const path = await own();
    await mkdir(path, { mode: 0o700 });
    return path;
  };
  const place: Aside["place"] = async (path, write) => {
    const draft = await make();
    try {
      await write(join(draft, "it"));
      pass("image.drafted");
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await rename(join(draft, "it"), path);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  };
  /** Those of processes that live, this one left out, and those of the dead. */
  const others = async (): Promise<{ living: string[]; dead: string[] }> => {
    const found: { living: string[]; dead: string[] } = { living: [], dead: [] };
    for (const name of await readdir(dir).catch(() => [])) {
      const [, pid = "", start] = NAME.exec(name) ?? [];
      if (Number(pid) === process.pid && start === (await startOf(process.pid))) continue;
      const isAlive = start !== undefined && (await startOf(Number(pid))) === start;
      found[isAlive ? "living" : "dead"].push(name);
    }
    return found;
  };
  return {
    make,
    place,
    remove,
    async within(work) {
      const sign = await make();
      try {
        return await work();
      } finally {
        await rm(sign, { recursive: true, force: true });
      }
    },
    isUsedByOthers: async () => (await others()).living.length > 0,
    async sweep() {
      const { dead } = await others();
      for (const name of dead) await remove(join(dir, name));
      return dead.length > 0;
    },
  };
}

/** With it a pid is never mistaken for an earlier one. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
