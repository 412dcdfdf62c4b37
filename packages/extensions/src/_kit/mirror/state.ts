import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Fact } from "./facts.ts";
import type { Pinned } from "./host-folder.ts";
import type { Base } from "./merge.ts";

/** What a mirror has to know after a restart. Without a base both sides have never agreed on anything. */
export interface MirrorState {
  readonly mode: "mirror" | "remote";
  readonly target: string;
  readonly pinned: Pinned;
  readonly base: Base;
}

/** As it is on the disk, written by nobody but us. */
interface Written extends Omit<MirrorState, "base"> {
  readonly schema: 1;
  readonly base: { readonly host: [string, Fact][]; readonly inside: [string, Fact][] };
}

/** One file for each sandbox that has a copy of a folder, beside what its extension keeps of it. */
export function mirrorStates(dir: string) {
  const folder = join(dir, "mirrors");
  const pathOf = (ref: string) => join(folder, `${ref}.json`);
  /** Sandboxes made here without a copy: nobody has to look for a file of theirs. */
  const without = new Set<string>();
  return {
    pathOf,
    hasNone: (ref: string) => void without.add(ref),
    async read(ref: string): Promise<MirrorState | undefined> {
      if (without.has(ref)) return undefined;
      const text = await readFile(pathOf(ref), "utf8").catch(() => undefined);
      if (text === undefined) return undefined;
      const { base, schema: _, ...rest } = JSON.parse(text) as Written;
      return { ...rest, base: { host: new Map(base.host), inside: new Map(base.inside) } };
    },
    /** The old or the new, whatever happens meanwhile. */
    async write(ref: string, { base, ...rest }: MirrorState): Promise<void> {
      without.delete(ref);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const sides = { host: [...base.host], inside: [...base.inside] };
      const written: Written = { schema: 1, ...rest, base: sides };
      const draft = `${pathOf(ref)}.${process.pid}.new`;
      await writeFile(draft, JSON.stringify(written), { mode: 0o600 });
      await rename(draft, pathOf(ref));
    },
    async forget(ref: string): Promise<void> {
      if (!without.delete(ref)) await rm(pathOf(ref), { force: true });
    },
    /**
     * Forgets those whose sandbox ended by itself. What is kept is looked at before the sandboxes are:
     * one that comes to be meanwhile is not among them, and its file is not looked at.
     */
    async keepOf<T extends { readonly ref: string }>(list: () => Promise<T[]>): Promise<T[]> {
      const names = await readdir(folder).catch(() => []);
      const known = [...without];
      const boxes = await list();
      const living = new Set(boxes.map(({ ref }) => ref));
      for (const ref of known) if (!living.has(ref)) without.delete(ref);
      for (const name of names) {
        if (!living.has(name.split(".")[0] ?? "")) await rm(join(folder, name), { force: true });
      }
      return boxes;
    },
  };
}
