import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";

/** What the host sees of one process. Nothing in it is the process's own word. */
export interface Facts {
  /** Lines of /proc/PID/task/TID/status, for every thread. */
  readonly threads: readonly Readonly<Record<string, string>>[];
  readonly namespaces: Readonly<Record<string, string>>;
  readonly uidMap: string;
  readonly gidMap: string;
  readonly mounts: readonly MountFacts[];
  /** Descriptor → what it leads to. */
  readonly descriptors: Readonly<Record<string, string>>;
  /** The instance of devpts at its /dev/pts, and those its descriptors that are terminals belong to. */
  readonly devpts: number;
  readonly terminals: readonly number[];
  /** Name → [soft, hard]. */
  readonly limits: Readonly<Record<string, readonly [string, string]>>;
  readonly environment: readonly string[];
}

export interface MountFacts {
  readonly path: string;
  readonly type: string;
  readonly flags: readonly string[];
  /** `shared:1`, `master:2`, …; a private mount has none. */
  readonly propagation: string;
}

const NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];

/** Flags that say how access times are kept, or that ids are shown through a map. */
const NO_MATTER = new Set(["relatime", "noatime", "nodiratime", "idmapped"]);

export const hostNamespaces = (): Facts["namespaces"] => namespaces("self");

export const hostLimits = (): Facts["limits"] => parseLimits(readFileSync("/proc/self/limits", "utf8"));

export function factsOf(pid: number): Facts {
  const at = (...names: string[]): string => join("/proc", String(pid), ...names);
  const text = (name: string): string => readFileSync(at(name), "utf8");
  const open = openIn(at("fd"));
  return {
    threads: readdirSync(at("task")).map((thread) => parseStatus(text(`task/${thread}/status`))),
    namespaces: namespaces(pid),
    uidMap: parseMap(text("uid_map")),
    gidMap: parseMap(text("gid_map")),
    mounts: text("mountinfo").trim().split("\n").map(parseMount),
    descriptors: Object.fromEntries(open.map(({ fd, target }) => [fd, target])),
    devpts: statSync(at("root/dev/pts")).dev,
    terminals: open.filter(({ target }) => /^\/dev\/pts\/\d/.test(target)).map(({ device }) => device),
    limits: parseLimits(text("limits")),
    environment: text("environ").split("\0").filter(Boolean).sort(),
  };
}

/** All at one moment: what is closed while we look makes us look again. */
function openIn(folder: string): { fd: string; target: string; device: number }[] {
  for (let tries = 50; ; tries--) {
    try {
      return readdirSync(folder).map((fd) => {
        const path = join(folder, fd);
        return { fd, target: leadsTo(path), device: statSync(path).dev };
      });
    } catch (error) {
      if (tries === 0 || (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** The top of a mount is `/` to the kernel, whichever it is: the host's and the sandbox's own stay that. */
function leadsTo(descriptor: string): string {
  const link = readlinkSync(descriptor);
  if (link !== "/") return link;
  const identity = (path: string) => {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  };
  const known = ["/", join(descriptor, "../../root")].map(identity);
  return known.includes(identity(descriptor)) ? link : "mount:/";
}

const namespaces = (pid: number | "self"): Record<string, string> =>
  Object.fromEntries(NAMESPACES.map((name) => [name, readlinkSync(`/proc/${pid}/ns/${name}`)]));

const parseStatus = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .trim()
      .split("\n")
      .map((line) => {
        const [name = "", ...value] = line.split(":");
        return [name, value.join(":").trim().replaceAll(/\s+/g, " ")];
      }),
  );

const parseMap = (text: string): string =>
  text
    .trim()
    .split("\n")
    .map((line) => line.trim().replaceAll(/\s+/g, " "))
    .join(", ");

function parseMount(line: string): MountFacts {
  const [before = "", after = ""] = line.split(" - ");
  const [, , , , path = "", flags = "", ...propagation] = before.split(" ");
  return {
    path,
    type: after.split(" ")[0] ?? "",
    flags: flags
      .split(",")
      .filter((flag) => !NO_MATTER.has(flag))
      .sort(),
    propagation: propagation.join(" "),
  };
}

const parseLimits = (text: string): Record<string, readonly [string, string]> =>
  Object.fromEntries(
    text
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => [
        line.slice(0, 26).trim(),
        [line.slice(26, 47).trim(), line.slice(47, 68).trim()] as const,
      ]),
  );
