import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readOrNothing } from "../capabilities/processes.ts";
import { rowsOf, troubleInTheBooks } from "./books.ts";
import { commandOf, groupNameOf, namespaceOf, processesOf } from "./processes.ts";

/** What a home has on the machine right now, by kind: each thing named, so that a leak says what it is. */
export interface Census {
  readonly processes: readonly string[];
  readonly cgroups: readonly string[];
  readonly mounts: readonly string[];
  /** Loop devices over files of the home. */
  readonly disks: readonly string[];
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
  disks: [],
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
    cgroups: foldersBelow("/sys/fs/cgroup").filter((path) => ours(path) || path.includes(groupNameOf(home))),
    mounts: mounts.filter(ours),
    disks: entries("/sys/block")
      .map((name) => `${name} ${readOrNothing(`/sys/block/${name}/loop/backing_file`)}`)
      .filter(ours),
    networks: [
      ...new Set([
        ...pids.map((pid) => namespaceOf(pid, "net")).filter((link) => link !== namespaceOf("self", "net")),
      ]),
      ...mounts.filter((line) => line.includes(" nsfs ") && ours(line)),
    ],
    sockets: readFileSync("/proc/net/unix", "utf8").split("\n").filter(ours),
    boxes: [...entries(join(home, "engine/boxes")), ...entries(join(home, "engine/layers"))],
    trash: entries(join(home, "engine/trash")),
    files: unexpectedFiles(home),
    rows: rowsOf(home).flatMap(({ id, state, ended }) => (ended ? [] : [`${id} ${state}`])),
    ...troubleInTheBooks(home),
  };
}

/** What went away while we looked is not there: others work on this machine at the same time. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ENODEV"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}

const entries = (folder: string) => entriesOf(folder).map(({ name }) => name);

function below(folder: string): { path: string; isFolder: boolean }[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    const isFolder = entry.isDirectory();
    return [{ path, isFolder }, ...(isFolder ? below(path) : [])];
  });
}

const foldersBelow = (folder: string): string[] =>
  below(folder).flatMap(({ path, isFolder }) => (isFolder ? [path] : []));

function sandboxIdsOf(home: string): string[] {
  return rowsOf(home).map(({ id }) => id);
}

const EXPECTED = [
  /^(root|secrets|snapshot)\.key$/,
  /^tls\.(key|pem)$/,
  /^state\.db(-wal|-shm)?$/,
  /^gateway\.lock(-journal)?$/,
  /^config\.yaml$/,
  /^e2b-(builds|tags)\.json$/,
  /^engine\/(hold\.(lock|log|sock)|cgroups)$/,
  /^engine\/disks\/\d+-\d+(-durable)?\.ext4$/,
  /^engine\/images\/host-\d+\//,
  /^engine\/images\/oci\/trimmings-\d+\//,
  /^engine\/images\/oci\/(records|names|setups)\/[0-9a-f]{64}\.json$/,
  /^engine\/tools\//,
];

/** Drafts, locks and whatever else should not outlive its writer. */
function unexpectedFiles(home: string): string[] {
  return below(home)
    .filter(({ isFolder }) => !isFolder)
    .map(({ path }) => path.slice(home.length + 1))
    .filter((path) => !/^engine\/(boxes|trash)\//.test(path))
    .filter((path) => !isOfAnImage(home, path))
    .filter((path) => !EXPECTED.some((pattern) => pattern.test(path)));
}

/** A layer is expected as long as an image or a setup has it. */
function isOfAnImage(home: string, path: string): boolean {
  const layer = /^engine\/images\/oci\/layers\/([0-9a-f]{64})\//.exec(path)?.[1];
  const known = ["records", "setups"].flatMap((room) => {
    const folder = join(home, "engine/images/oci", room);
    return entries(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  });
  return layer !== undefined && known.some((text) => text.includes(`"sha256:${layer}"`));
}
