import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { readOrNothing } from "../capabilities/processes.ts";

/** Checks ask the host, never the sandbox: what is inside may lie. */

const NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] as const;

export function initPidOf(engineDir: string, sandboxId: string): number {
  const record = JSON.parse(readFileSync(join(engineDir, "boxes", sandboxId, "box.json"), "utf8"));
  return Number(record.pid);
}

export function namespacesOf(pid: number | "self"): Record<string, string> {
  return Object.fromEntries(NAMESPACES.map((name) => [name, readlinkSync(`/proc/${pid}/ns/${name}`)]));
}

/** Host pids of everything that lives in a pid namespace. */
export function processesIn(pidNamespace: string): number[] {
  const found: number[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if (readlinkSync(`/proc/${entry}/ns/pid`) === pidNamespace) found.push(Number(entry));
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

/** The host's pid of what has `pid` in the pid namespace of a sandbox's first process. */
export function hostPidOf(initPid: number, pid: number): number {
  for (const candidate of processesIn(namespacesOf(initPid).pid as string)) {
    const inside = /^NSpid:.*\s(\d+)$/m.exec(readOrNothing(`/proc/${candidate}/status`))?.[1];
    if (Number(inside) === pid) return candidate;
  }
  throw new Error(`nothing has pid ${pid} there`);
}

/** Does it run that program, and has nothing to do? */
export function isAsleep(pid: number, program: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").includes(`(${program}) S `);
  } catch {
    return false;
  }
}

export const idMapOf = (pid: number): number[][] =>
  readFileSync(`/proc/${pid}/uid_map`, "utf8")
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
