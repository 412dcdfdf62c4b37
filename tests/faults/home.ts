import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { pauseMs } from "../capabilities/processes.ts";
import { NOTHING, takeCensus } from "./census.ts";
import { holdOf, isAlive, processesOf } from "./processes.ts";

type OnFinished = (clean: () => Promise<void> | void) => void;

/** A home of its own. Whatever a failed test left running for it is ended by its pid. */
export function makeHome(onFinished: OnFinished): string {
  const home = mkdtempSync(join(tmpdir(), "sandboxer-fault-"));
  for (const room of ["boxes", "trash"]) mkdirSync(join(home, "engine", room), { recursive: true });
  onFinished(() => {
    for (const pid of processesOf(home)) kill(pid, "SIGKILL");
    const deadline = Date.now() + 20_000;
    while (processesOf(home).length > 0 && Date.now() < deadline) pauseMs(10);
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return home;
}

/** Ends the supervisor, which by now has nothing to hold, and expects that nothing at all is left. */
export async function expectNothingLeft(home: string): Promise<void> {
  const patience = { timeout: 60_000, interval: 20 };
  await expect.poll(() => takeCensus(home), patience).toMatchObject({ boxes: [], trash: [] });
  await endHold(home, "SIGTERM");
  await expect.poll(() => takeCensus(home), patience).toEqual(NOTHING);
}

export async function endHold(home: string, signal: NodeJS.Signals): Promise<void> {
  const pid = holdOf(home);
  if (pid === undefined) return;
  kill(pid, signal);
  await expect.poll(() => isAlive(pid), { timeout: 60_000, interval: 10 }).toBe(false);
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  // To the kernel 0 is whoever asks, and all that it started.
  if (!(pid > 1)) throw new Error(`${pid} is no process that a test ends`);
  try {
    process.kill(pid, signal);
  } catch {
    // It left by itself in the meantime.
  }
}
