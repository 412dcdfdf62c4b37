import { readFileSync, readlinkSync } from "node:fs";
import { newRowId } from "@sandboxer/contract";

/** Who writes a row, so that a later reader can tell whether that process still lives. */
export function nameInstance(): string {
  return [...placeOf(), process.pid, startOf(process.pid), newRowId("ins")].join(":");
}

/**
 * Whether the process behind a name is certainly gone. A name from another place (another container,
 * another system than Linux) is not known to be.
 */
export function isInstanceGone(name: string | undefined): boolean {
  const [boot, pidNamespace, pid, start] = name?.split(":") ?? [];
  const [ourBoot, ourPidNamespace] = placeOf();
  if (!boot || !pidNamespace || !ourPidNamespace) return false;
  if (boot !== ourBoot) return true;
  return pidNamespace === ourPidNamespace && startOf(Number(pid)) !== start;
}

/** A pid means something only within one boot and one pid namespace. */
function placeOf(): [boot: string, pidNamespace: string] {
  const digits = (text: string) => text.replaceAll(/[^0-9a-f]/g, "");
  return [
    digits(orNothing(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"))),
    digits(orNothing(() => readlinkSync("/proc/self/ns/pid"))),
  ];
}

/** Field 22 of /proc/<pid>/stat, counted after the command's name, which may hold anything. */
function startOf(pid: number): string {
  const stat = orNothing(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const isDead = fields[0] === "Z" || fields[0] === "X";
  return isDead ? "" : (fields[19] ?? "");
}

function orNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
