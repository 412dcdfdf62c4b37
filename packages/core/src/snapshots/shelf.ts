import type { KeyObject } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Principal, SandboxerError, type Snapshot, snapshotRecordSchema } from "@sandboxer/contract";
import { writePrivate } from "./layout.ts";

export interface ShelfOptions {
  readonly dir: string;
  /** Ed25519; vouches for what this installation made. */
  readonly privateKey: KeyObject;
  /** Of all layers of one; 32 GiB, unless said. */
  readonly mostBytes?: number;
}

type Viewer = Pick<Principal, "id" | "orgId">;
/** Whoever is above it sees what it keeps. */
type Owner = Viewer & Pick<Principal, "lineage">;

export interface Draft<Facts> {
  readonly facts: Facts;
  readonly dir: string;
  /** Of what is in its place already, takes nothing away. */
  drop(): Promise<void>;
}

/** Snapshots on disk, each a folder that is there as a whole or not at all. */
export interface Shelf extends Required<ShelfOptions> {
  pathOf(id: string): string;
  /** Makes one aside and puts it in its place when `fill` is done. */
  add(owner: Owner, id: string, fill: (dir: string) => Promise<Snapshot>): Promise<Snapshot>;
  /** Makes a folder aside, for what may become one. What `fill` leaves behind when it fails goes. */
  draft<Facts>(id: string, fill: (dir: string) => Promise<Facts>): Promise<Draft<Facts>>;
  /** Puts what was made aside in the place of this snapshot. `conflict` when its name is taken. */
  place(owner: Owner, draft: Draft<unknown>, snapshot: Snapshot): Promise<Snapshot>;
  /** What the principal may see, newest first. */
  list(viewer: Viewer): Promise<Snapshot[]>;
  /** Of everybody, newest first: for the house itself. */
  all(): Promise<Snapshot[]>;
  /** By id or by name. Somebody else's is `not_found`, exactly as an absent one. */
  find(principal: Principal, idOrName: string): Promise<Snapshot>;
  remove(id: string): Promise<void>;
  /** What was being made, or removed, when a process died. */
  sweep(): Promise<void>;
}

const ID = /^snp_[a-z0-9]{20}$/;

export function openShelf(options: ShelfOptions): Shelf {
  const { dir, mostBytes = 32 * 2 ** 30 } = options;
  const pathOf = (id: string) => join(dir, id);

  const records = async () => {
    const names = await readdir(dir).catch(() => []);
    const read = await Promise.all(names.filter((name) => ID.test(name)).map((id) => readRecord(pathOf(id))));
    return read
      .flatMap((record) => record ?? [])
      .sort((a, b) => b.snapshot.createdAtMs - a.snapshot.createdAtMs);
  };
  const list = async ({ orgId, id: viewer }: Viewer): Promise<Snapshot[]> =>
    (await records()).flatMap(({ snapshot, seenBy }) =>
      snapshot.orgId === orgId && seenBy.includes(viewer) ? snapshot : [],
    );
  const draft = async <Facts>(id: string, fill: (dir: string) => Promise<Facts>): Promise<Draft<Facts>> => {
    const aside = `${pathOf(id)}.${process.pid}.new`;
    const drop = () => rm(aside, { recursive: true, force: true });
    await mkdir(aside, { recursive: true, mode: 0o700 });
    try {
      return { facts: await fill(aside), dir: aside, drop };
    } catch (error) {
      await drop();
      throw storageFull(error);
    }
  };
  const place: Shelf["place"] = async (owner, { dir: aside }, snapshot) => {
    const { name } = snapshot;
    if (name !== undefined && (await list(owner)).some((other) => other.name === name)) {
      throw new SandboxerError("conflict", `a snapshot named ${name} is there`, { details: { name } });
    }
    const seenBy = [...new Set([...owner.lineage, owner.id])];
    try {
      await writePrivate(join(aside, "record.json"), JSON.stringify({ snapshot, seenBy }));
      await rename(aside, pathOf(snapshot.id));
    } catch (error) {
      throw storageFull(error);
    }
    return snapshot;
  };

  return {
    dir,
    // Asked for when it signs: whoever opens an installation need not read the key.
    get privateKey() {
      return options.privateKey;
    },
    mostBytes,
    pathOf,
    list,
    all: async () => (await records()).map(({ snapshot }) => snapshot),
    async find(principal, idOrName) {
      const found = (await list(principal)).find(({ id, name }) => id === idOrName || name === idOrName);
      if (found) return found;
      throw new SandboxerError("not_found", `no snapshot ${idOrName}`);
    },
    draft,
    place,
    async add(owner, id, fill) {
      const made = await draft(id, fill);
      try {
        return await place(owner, made, made.facts);
      } finally {
        await made.drop();
      }
    },
    async remove(id) {
      const doomed = `${pathOf(id)}.old`;
      // Gone at once; the bytes follow.
      await rename(pathOf(id), doomed).catch(() => {});
      await rm(doomed, { recursive: true, force: true });
    },
    async sweep() {
      for (const name of await readdir(dir).catch(() => [])) {
        const [left, pid] = /\.(?:(\d+)\.)?(?:new|old)$/.exec(name) ?? [];
        // Another process of this home may be at it.
        if (left && !isAlive(Number(pid))) await rm(join(dir, name), { recursive: true, force: true });
      }
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function readRecord(path: string) {
  try {
    return snapshotRecordSchema.parse(JSON.parse(await readFile(join(path, "record.json"), "utf8")));
  } catch {
    return undefined;
  }
}

function storageFull(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException)?.code !== "ENOSPC") return error;
  return new SandboxerError("storage_full", "there is no room for the snapshot", { cause: error });
}
