import { readdirSync, readFileSync } from "node:fs";

const LEAVES_WITHIN_MS = 3_000;

/**
 * Ends every process whose command line names this folder. Only for a folder made for one run under
 * a name of its own: then such a process is the run's, whatever its program is called.
 */
export function endProcessesOf(folder: string): void {
  for (const pid of processesOf(folder)) signal(pid, "SIGTERM");
  const deadline = Date.now() + LEAVES_WITHIN_MS;
  while (processesOf(folder).length > 0 && Date.now() < deadline) pauseMs(20);
  for (const pid of processesOf(folder)) signal(pid, "SIGKILL");
}

export function processesOf(folder: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter(
      (pid) => pid > 0 && pid !== process.pid && readOrNothing(`/proc/${pid}/cmdline`).includes(folder),
    );
}

/** Synchronous, so that it works while a process exits. */
export function pauseMs(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}

/** What has gone or cannot be read says nothing. */
export function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It left by itself in the meantime.
  }
}
