import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { readOrNothing } from "../capabilities/processes.ts";
import { rowsOf, troubleInTheBooks } from "./books.ts";

/** What a home has on the machine right now, by kind: each thing named, so that a leak says what it is. */
export interface Census {
  readonly processes: readonly string[];
  readonly cgroups: readonly string[];
  readonly mounts: readonly string[];
  readonly networks: readonly string[];
  readonly sockets: readonly string[];
  readonly boxes: readonly string[];
  readonly trash: readonly string[];
  readonly files: readonly string[];
  readonly rows: readonly string[];
  readonly money: readonly string[];
  readonly events: readonly string[];
}

export const NOTHING: Census = {
  processes: [],
  cgroups: [],
  mounts: [],
  networks: [],
  sockets: [],
  boxes: [],
  trash: [],
  files: [],
  rows: [],
  money: [],
  events: [],
};

/** Asks the host, the store and the folders; nothing that is counted is asked about itself. */
export function takeCensus(home: string): Census {
  const pids = processesOf(home);
  const ids = sandboxIdsOf(home);
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const ours = (text: string) => text.includes(home) || ids.some((id) => text.includes(id));
  return {
    processes: pids.map((pid) => `${pid} ${commandOf(pid)}`),
    cgroups: foldersBelow("/sys/fs/cgroup").filter(ours),
    mounts: mounts.filter(ours),
    networks: [
      ...new Set([...pids.map((pid) => linkOf(pid, "net")).filter((link) => link !== ourLink("net"))]),
      ...mounts.filter((line) => line.includes(" nsfs ") && ours(line)),
    ],
    sockets: readFileSync("/proc/net/unix", "utf8").split("\n").filter(ours),
    boxes: entries(join(home, "engine/boxes")),
    trash: entries(join(home, "engine/trash")),
    files: unexpectedFiles(home),
    rows: rowsOf(home).flatMap(({ id, state, ended }) => (ended ? [] : [`${id} ${state}`])),
    ...troubleInTheBooks(home),
  };
}

/** Everything that names the home on its command line or works for it, and all that shares a pid namespace with it. */
export function processesOf(home: string): number[] {
  const living = readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && isAlive(pid));
  const named = living.filter((pid) => commandOf(pid).includes(home) || isGatewayOf(pid, home));
  const inside = new Set(named.map((pid) => linkOf(pid, "pid")));
  inside.delete(ourLink("pid"));
  return living.filter((pid) => named.includes(pid) || inside.has(linkOf(pid, "pid")));
}

/** The supervisor itself: it names the home and lives where we do. */
export function holdOf(home: string): number | undefined {
  return processesOf(home).find(
    (pid) => commandOf(pid).includes("boxd hold") && linkOf(pid, "pid") === ourLink("pid"),
  );
}

const isGatewayOf = (pid: number, home: string) =>
  readOrNothing(`/proc/${pid}/environ`).includes(`SANDBOXER_HOME=${home}\0`);

const commandOf = (pid: number) => readOrNothing(`/proc/${pid}/cmdline`).replaceAll("\0", " ");

/** A zombie has let go of everything but its number. */
export function isAlive(pid: number): boolean {
  const stat = readOrNothing(`/proc/${pid}/stat`);
  return stat !== "" && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

function linkOf(pid: number | "self", kind: "pid" | "net"): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return "";
  }
}
const ourLink = (kind: "pid" | "net") => linkOf("self", kind);

const entries = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

function foldersBelow(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  return names
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name))
    .flatMap((path) => [path, ...foldersBelow(path)]);
}

function sandboxIdsOf(home: string): string[] {
  return rowsOf(home).map(({ id }) => id);
}

const EXPECTED = [
  /^root\.key$/,
  /^state\.db(-wal|-shm)?$/,
  /^gateway\.lock(-journal)?$/,
  /^engine\/hold\.(lock|log|sock)$/,
  /^engine\/images\/host-\d+\//,
];

/** Drafts, locks and whatever else should not outlive its writer. */
function unexpectedFiles(home: string): string[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1))
    .filter((path) => !/^engine\/(boxes|trash)\//.test(path))
    .filter((path) => !EXPECTED.some((pattern) => pattern.test(path)));
}
