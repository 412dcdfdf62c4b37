import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stopDockerd } from "./dockerd.ts";
import { endProcessesOf, readOrNothing } from "./processes.ts";

const PREFIX = "sandboxer-run-";

/** A folder for the daemons of one run. Its name carries our pid, so that the next run knows it is stale. */
export function openRunDirectory(): string {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : Number.NaN;
    if (pid > 0 && readOrNothing(`/proc/${pid}/stat`) === "") closeRunDirectory(join(tmpdir(), name));
  }
  return mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
}

/** Ends what was started in it, and every mount left there. Synchronous, so that it also works in `exit`. */
export function closeRunDirectory(directory: string): void {
  for (const pidFile of globSync("**/docker.pid", { cwd: directory })) {
    stopDockerd(join(directory, dirname(pidFile)));
  }
  endProcessesOf(directory);
  const mounts = readOrNothing("/proc/self/mounts")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "");
  for (const mount of mounts.filter((path) => path.startsWith(`${directory}/`)).reverse()) {
    execFileSync("umount", ["--lazy", mount]);
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
