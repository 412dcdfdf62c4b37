import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Where the relay brings a guard what it has to read. */
export const socketOf = (dir: string, pid: number): string => join(dir, `inspect-${pid}.sock`);

/** Those of guards that were killed: who ends in order takes its own along. */
export function sweepSockets(dir: string): void {
  for (const name of readdirSync(dir)) {
    const pid = Number(/^inspect-(\d+)\.sock$/.exec(name)?.[1]);
    if (pid > 0 && !isAlive(pid)) rmSync(join(dir, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
