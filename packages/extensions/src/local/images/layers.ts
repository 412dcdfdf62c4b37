import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ByteSource, SandboxerError } from "@sandboxer/contract";
import { askBoxd } from "../../_kit/boxd/command.ts";
import type { PassLocalFailPoint } from "../failpoint.ts";
import type { Aside } from "./aside.ts";
import { checkedTar, type Expected } from "./checked-tar.ts";

export interface LayerFacts {
  readonly entries: number;
  readonly bytes: number;
  readonly skipped: number;
  readonly stripped: number;
  readonly owners: "kept" | "collapsed";
}

export interface LayerSource extends Expected {
  open(): Promise<ByteSource>;
}

/** Unpacked layers, each there as a whole or not at all, by what they unpack to. */
export interface Layers {
  /** The folder that sandboxes lie on. */
  treeOf(diffId: string): string;
  facts(diffId: string): Promise<LayerFacts | undefined>;
  /** Unpacks it where it is missing: once, however many ask. Gives its diff id. */
  keep(source: LayerSource): Promise<string>;
  list(): Promise<string[]>;
  remove(diffId: string): Promise<void>;
}

export interface LayersOptions {
  readonly dir: string;
  readonly boxdPath: string;
  readonly aside: Aside;
  /** The most that one unpacks to. */
  readonly mostBytes: number;
  readonly pass: PassLocalFailPoint;
}

const HEX = /^[0-9a-f]{64}$/;

export function openLayers({ dir, boxdPath, aside, mostBytes, pass }: LayersOptions): Layers {
  const placeOf = (diffId: string) => join(dir, diffId.slice("sha256:".length));
  const underWay = new Map<string, Promise<string>>();

  // What is in its place never changes; another process may remove it, which the create then says.
  const known = new Map<string, LayerFacts>();
  const facts = async (diffId: string): Promise<LayerFacts | undefined> => {
    const found = known.get(diffId);
    if (found) return found;
    const text = await readFile(join(placeOf(diffId), "layer.json"), "utf8").catch(() => undefined);
    if (text === undefined) return undefined;
    const read = JSON.parse(text) as LayerFacts;
    known.set(diffId, read);
    return read;
  };

  const make = async (source: LayerSource): Promise<string> => {
    const draft = await aside.make();
    try {
      await mkdir(join(draft, "tree"), { mode: 0o755 });
      pass("image.begun");
      const tar = checkedTar(await source.open(), source, mostBytes);
      const args = ["unpack", "--to", join(draft, "tree"), "--bytes", String(mostBytes)];
      const found = await askBoxd(boxdPath, args, tar.bytes);
      // Only now is it known that all of it is what was asked for.
      const diffId = await tar.diffId;
      pass("image.unpacked");
      await writeFile(join(draft, "layer.json"), JSON.stringify(found), { mode: 0o600, flush: true });
      await mkdir(dir, { recursive: true, mode: 0o700 });
      try {
        await rename(draft, placeOf(diffId));
      } catch (error) {
        // Somebody else was faster; theirs is the same.
        if (!(await facts(diffId))) throw error;
        await aside.remove(draft);
      }
      pass("image.layered");
      return diffId;
    } catch (error) {
      await aside.remove(draft);
      throw asOurs(error);
    }
  };

  return {
    treeOf: (diffId) => join(placeOf(diffId), "tree"),
    facts,
    async keep(source) {
      const { diffId } = source;
      if (diffId === undefined) return make(source);
      if (await stat(placeOf(diffId)).catch(() => undefined)) return diffId;
      const making = underWay.get(diffId) ?? make(source).finally(() => underWay.delete(diffId));
      underWay.set(diffId, making);
      return making;
    },
    async list() {
      const names = await readdir(dir).catch(() => []);
      return names.filter((name) => HEX.test(name)).map((name) => `sha256:${name}`);
    },
    async remove(diffId) {
      known.delete(diffId);
      await aside.remove(placeOf(diffId));
    },
  };
}

function asOurs(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new SandboxerError("storage_full", "there is no room for the image", { cause: error });
  }
  return error;
}
