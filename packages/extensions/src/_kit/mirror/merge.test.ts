import fc from "fast-check";
import { expect, it } from "vitest";
import type { Fact } from "./facts.ts";
import { type Base, type Merge, merge } from "./merge.ts";

/** A tree whose files say by their size which text they are; a time says who wrote it. */
type Tree = Map<string, Fact>;

const folder: Fact = { type: "directory", mode: 0o755, size: 0, mtimeMs: 0 };
const file = (text: number, mtimeMs: number): Fact => ({ type: "file", mode: 0o644, size: text, mtimeMs });

const NAMES = ["a", "b", "a/x", "a/y", "b/x", "a/x/p", "b/x/p"];

/** Any tree of these names: what is below something that is no folder is not there. */
const trees = (mtimeMs: number) =>
  fc
    .array(fc.option(fc.integer({ min: 0, max: 4 })), { minLength: NAMES.length, maxLength: NAMES.length })
    .map((kinds) => {
      const tree: Tree = new Map();
      NAMES.forEach((name, at) => {
        const kind = kinds[at] ?? null;
        const above = name.includes("/") ? tree.get(name.slice(0, name.lastIndexOf("/"))) : folder;
        if (kind === null || above?.type !== "directory") return;
        tree.set(name, kind < 2 ? folder : file(kind, mtimeMs));
      });
      return tree;
    });

/** Each side keeps some of the base and has some of its own. */
const changed = (base: Tree, other: Tree, keeps: readonly boolean[]): Tree => {
  const tree: Tree = new Map();
  NAMES.forEach((name, at) => {
    const fact = keeps[at] ? base.get(name) : other.get(name);
    const above = name.includes("/") ? tree.get(name.slice(0, name.lastIndexOf("/"))) : folder;
    if (fact && above?.type === "directory") tree.set(name, fact);
  });
  return tree;
};

/** What boxd does on both sides with what was decided. */
function carryOut({ decisions, beside }: Merge, host: Tree, inside: Tree): [Tree, Tree] {
  const [ours, theirs] = [new Map(host), new Map(inside)];
  const set = (tree: Tree, path: string, fact: Fact | undefined) =>
    fact ? tree.set(path, fact) : tree.delete(path);
  for (const [path, decision] of decisions) {
    if (decision === "pull") set(ours, path, inside.get(path));
    else set(theirs, path, host.get(path));
    const name = beside.get(path);
    const fact = inside.get(path);
    if (name === undefined || !fact) continue;
    for (let cut = name.indexOf("/"); cut > 0; cut = name.indexOf("/", cut + 1)) {
      if (!ours.has(name.slice(0, cut))) ours.set(name.slice(0, cut), folder);
    }
    ours.set(name, fact);
  }
  return [ours, theirs];
}

const isTree = (tree: Tree) =>
  [...tree.keys()].every(
    (path) => !path.includes("/") || tree.get(path.slice(0, path.lastIndexOf("/")))?.type === "directory",
  );
const texts = (tree: Tree) =>
  [...tree.values()].filter(({ type }) => type === "file").map(({ size, mtimeMs }) => `${size}@${mtimeMs}`);

const situations = fc
  .tuple(trees(1_000), trees(2_500), trees(3_500), fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }))
  .map(([base, ours, theirs, keeps]) => ({
    base,
    host: changed(base, ours, keeps.slice(0, 7)),
    inside: changed(base, theirs, keeps.slice(7)),
  }));

it("loses nothing that either side wrote, whatever both did", () => {
  fc.assert(
    fc.property(situations, ({ base, host, inside }) => {
      const merged = merge({ host: base, inside: base }, host, inside);
      const [ours] = carryOut(merged, host, inside);
      expect(isTree(ours)).toBe(true);
      const there = new Set(texts(ours));
      const written = [...host, ...inside].filter(([path, fact]) => base.get(path) !== fact);
      for (const text of texts(new Map(written.map(([path, fact], at) => [`${at}${path}`, fact])))) {
        expect(there.has(text)).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});

it("keeps the host's names for the host's things", () => {
  fc.assert(
    fc.property(situations, ({ base, host, inside }) => {
      const [ours] = carryOut(merge({ host: base, inside: base }, host, inside), host, inside);
      for (const [path, fact] of host) {
        if (base.get(path) !== fact && fact.type === "file") expect(ours.get(path)).toBe(fact);
      }
    }),
    { numRuns: 2_000 },
  );
});

it("has both sides the same after twice, and then has nothing more to do", () => {
  fc.assert(
    fc.property(situations, ({ base, host, inside }) => {
      let known: Base = { host: base, inside: base };
      let [ours, theirs] = [host, inside];
      for (let round = 0; round < 3; round++) {
        [ours, theirs] = carryOut(merge(known, ours, theirs), ours, theirs);
        known = round === 0 ? { host: without(ours, host), inside: theirs } : { host: ours, inside: theirs };
      }
      expect([...ours].sort(byPath)).toEqual([...theirs].sort(byPath));
      expect(merge(known, ours, theirs).decisions.size).toBe(0);
    }),
    { numRuns: 2_000 },
  );
});

/** What was put beside is new on the host, and goes in the next time. */
const without = (now: Tree, before: Tree): Tree =>
  new Map([...now].filter(([path]) => before.has(path) || !path.includes(".conflict-")));
const byPath = ([one]: [string, Fact], [other]: [string, Fact]) => (one < other ? -1 : 1);
