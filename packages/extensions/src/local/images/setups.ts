import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ByteSource } from "@sandboxer/contract";
import type { Aside } from "./aside.ts";
import type { Layers } from "./layers.ts";

/** What setups wrote, each a layer, by what it came of. */
export interface Setups {
  /** The layer that is kept under a key. */
  find(key: string): Promise<string | undefined>;
  keep(key: string, layer: ByteSource): Promise<void>;
  /** Every key with its layer. */
  list(): Promise<Map<string, string>>;
  remove(key: string): Promise<void>;
}

const FILE = /^([0-9a-f]{64})\.json$/;

export function openSetups(dir: string, layers: Layers, aside: Aside): Setups {
  const pathOf = (key: string) => join(dir, `${createHash("sha256").update(key).digest("hex")}.json`);
  const read = async (path: string): Promise<{ key: string; layer: string } | undefined> => {
    const text = await readFile(path, "utf8").catch(() => undefined);
    return text === undefined ? undefined : (JSON.parse(text) as { key: string; layer: string });
  };
  return {
    async find(key) {
      const found = await read(pathOf(key));
      return found && (await layers.facts(found.layer)) ? found.layer : undefined;
    },
    keep: (key, source) =>
      aside.within(async () => {
        const layer = await layers.keep({ open: async () => source });
        const text = JSON.stringify({ key, layer });
        await aside.place(pathOf(key), (draft) => writeFile(draft, text, { mode: 0o600, flush: true }));
      }),
    async list() {
      const names = (await readdir(dir).catch(() => [])).filter((name) => FILE.test(name));
      const found = await Promise.all(names.map((name) => read(join(dir, name))));
      return new Map(found.flatMap((one) => (one ? [[one.key, one.layer] as const] : [])));
    },
    remove: (key) => rm(pathOf(key), { force: true }),
  };
}
