import { createHash } from "node:crypto";
import { readFileSync, readlinkSync, rmSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";

/** Nobody writes for so long without a byte; what another machine left in a shared folder goes then. */
const FORSAKEN_MS = 24 * 3_600_000;

/**
 * Where a file of the user's is written first, beside its place, so that it is there whole or not at
 * all. A signal that ends us takes it along; what somebody left there who was killed is removed.
 */
export async function draftFor(path: string): Promise<string> {
  const [folder, start] = [dirname(path), `${basename(path)}.sandboxer-`];
  const here = placeOfPids();
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(start)) continue;
    const [, place, pid] =
      /^([0-9a-f]{8})-(\d+)(?:-wal|-shm|-journal)?$/.exec(name.slice(start.length)) ?? [];
    if (place === undefined) continue;
    const draft = join(folder, name);
    if (place === here ? !isAliveElse(Number(pid)) : await isForsaken(draft))
      await rm(draft, { force: true }).catch(() => {});
  }
  const own = join(folder, `${start}${here}-${process.pid}`);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      for (const end of ["", "-wal", "-shm", "-journal"]) rmSync(own + end, { force: true });
      // Nothing listens any more, so it ends us as it ends others.
      process.kill(process.pid, signal);
    });
  }
  return own;
}

/** A pid means something on one machine until its next start, and among those who see the same ones. */
function placeOfPids(): string {
  let place = hostname();
  try {
    place = `${readFileSync("/proc/sys/kernel/random/boot_id")} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Not Linux: a client of a gateway elsewhere.
  }
  return createHash("sha256").update(place).digest("hex").slice(0, 8);
}

/** One of our own pid is of somebody who had it before. */
function isAliveElse(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function isForsaken(draft: string): Promise<boolean> {
  const found = await stat(draft).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > FORSAKEN_MS;
}
