import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { readOrNothing } from "../capabilities/processes.ts";

/**
 * Everything that names the home on its command line or works for it, holds a socket in it or is in
 * a control group of it; and all that shares a pid namespace with one of those.
 */
export function processesOf(home: string): number[] {
  const living = readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && isAlive(pid));
  const sockets = socketsOf(home);
  const group = groupNameOf(home);
  const ours = living.filter(
    (pid) =>
      commandOf(pid).includes(home) ||
      readOrNothing(`/proc/${pid}/environ`).includes(`SANDBOXER_HOME=${home}\0`) ||
      readOrNothing(`/proc/${pid}/cgroup`).includes(group) ||
      (isBoxd(pid) && linksOf(pid).some((link) => sockets.has(link))),
  );
  const inside = new Set(ours.map((pid) => namespaceOf(pid, "pid")));
  inside.delete(namespaceOf("self", "pid"));
  return living.filter((pid) => ours.includes(pid) || inside.has(namespaceOf(pid, "pid")));
}

/** The supervisor itself: it names the home and lives where we do. */
export function holdOf(home: string): number | undefined {
  const isOutside = (pid: number) => namespaceOf(pid, "pid") === namespaceOf("self", "pid");
  return processesOf(home).find((pid) => commandOf(pid).includes("boxd hold") && isOutside(pid));
}

export const commandOf = (pid: number) => readOrNothing(`/proc/${pid}/cmdline`).replaceAll("\0", " ");

/** A zombie has let go of everything but its number. */
export function isAlive(pid: number): boolean {
  const stat = readOrNothing(`/proc/${pid}/stat`);
  return stat !== "" && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

export function namespaceOf(pid: number | "self", kind: "pid" | "net"): string {
  return linkOrNothing(`/proc/${pid}/ns/${kind}`);
}

/** As boxd names the control groups of one folder: FNV-1a over its place on disk and its path. */
export function groupNameOf(home: string): string {
  const engine = join(home, "engine");
  const { dev, ino } = statSync(engine, { bigint: true });
  const identity = Buffer.alloc(16);
  identity.writeBigUInt64BE(dev, 0);
  identity.writeBigUInt64BE(ino, 8);
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.concat([identity, Buffer.from(engine)])) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return `sandboxer-${hash.toString(16).padStart(16, "0")}`;
}

/** As the links of descriptors spell them. The kernel remembers a socket's path though it was moved. */
function socketsOf(home: string): Set<string> {
  const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
  return new Set(
    lines.filter((line) => line.includes(home)).map((line) => `socket:[${line.split(/ +/)[6]}]`),
  );
}

const isBoxd = (pid: number) => linkOrNothing(`/proc/${pid}/exe`).includes("/boxd");

function linksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => linkOrNothing(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}

function linkOrNothing(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
