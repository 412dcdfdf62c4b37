import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KeptImage } from "@sandboxer/contract";
import type { Aside } from "./aside.ts";

/** What is written down of an image. Its layers are there before it is. */
export interface ImageRecord {
  readonly schema: 1;
  readonly digest: string;
  readonly platform: string;
  readonly keptSinceMs: number;
  /** Diff ids, from the bottom up. */
  readonly layers: readonly string[];
  readonly defaults: KeptImage["defaults"];
  readonly entrypoint: string[];
  readonly command: string[];
}

/** Images by digest, and the names that lead to them. Every file appears and changes as a whole. */
export interface ImageShelf {
  put(record: ImageRecord): Promise<void>;
  get(digest: string): Promise<ImageRecord | undefined>;
  list(): Promise<ImageRecord[]>;
  remove(digest: string): Promise<void>;
  name(name: string, digest: string): Promise<void>;
  named(name: string): Promise<string | undefined>;
  /** Every name, with what it leads to. */
  names(): Promise<Map<string, string>>;
  forget(name: string): Promise<void>;
}

const JSON_FILE = /^[0-9a-f]{64}\.json$/;

export function openShelf(dir: string, aside: Aside): ImageShelf {
  const records = join(dir, "records");
  const names = join(dir, "names");
  const recordPath = (digest: string) => join(records, `${digest.slice("sha256:".length)}.json`);
  const namePath = (name: string) => join(names, `${createHash("sha256").update(name).digest("hex")}.json`);
  const write = (path: string, value: unknown): Promise<void> =>
    aside.place(path, (draft) => writeFile(draft, JSON.stringify(value), { mode: 0o600, flush: true }));

  return {
    put: (record) => write(recordPath(record.digest), record),
    get: (digest) => read<ImageRecord>(recordPath(digest)),
    list: () => all<ImageRecord>(records),
    remove: (digest) => rm(recordPath(digest), { force: true }),
    name: (name, digest) => write(namePath(name), { name, digest }),
    named: async (name) => (await read<{ digest: string }>(namePath(name)))?.digest,
    async names() {
      const found = await all<{ name: string; digest: string }>(names);
      return new Map(found.map(({ name, digest }) => [name, digest]));
    },
    forget: (name) => rm(namePath(name), { force: true }),
  };
}

async function read<T>(path: string): Promise<T | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}

async function all<T>(dir: string): Promise<T[]> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => JSON_FILE.test(name));
  const found = await Promise.all(names.map((name) => read<T>(join(dir, name))));
  return found.filter((one) => one !== undefined) as T[];
}
