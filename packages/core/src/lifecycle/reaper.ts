import { SandboxerError } from "@sandboxer/contract";
import type { Clock } from "../clock.ts";
import type { Report } from "../report.ts";

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** A timer goes no further than 24 days. */
const LONGEST_WAIT_MS = 7 * 24 * 3_600_000;

/** Ends every sandbox when its time is up. */
export interface Reaper {
  /** From the first call on, the clock runs; asking again changes nothing. */
  watch(sandboxId: string, expiresAtMs: number): void;
  watches(sandboxId: string): boolean;
  forget(sandboxId: string): void;
  close(): void;
}

/**
 * One unref'd timer per sandbox: Node keeps them in a heap and on the monotonic clock, so a wall
 * clock that jumps after `watch` ends nothing early. What is kept for longer is waited for in steps.
 */
export function createReaper(
  clock: Clock,
  expire: (sandboxId: string) => Promise<unknown>,
  report: Report,
): Reaper {
  const timers = new Map<string, NodeJS.Timeout>();

  const schedule = (sandboxId: string, delayMs: number, retryMs: number): void => {
    const timer = setTimeout(async () => {
      try {
        await expire(sandboxId);
        if (timers.get(sandboxId) === timer) timers.delete(sandboxId);
      } catch (error) {
        report(`ending ${sandboxId} on time`, SandboxerError.from(error));
        if (timers.get(sandboxId) !== timer) return;
        schedule(sandboxId, retryMs, Math.min(retryMs * 2, LONGEST_RETRY_MS));
      }
    }, delayMs);
    timers.set(sandboxId, timer.unref());
  };

  const wait = (sandboxId: string, leftMs: number): void => {
    if (leftMs <= LONGEST_WAIT_MS) return schedule(sandboxId, leftMs, FIRST_RETRY_MS);
    const timer = setTimeout(() => wait(sandboxId, leftMs - LONGEST_WAIT_MS), LONGEST_WAIT_MS);
    timers.set(sandboxId, timer.unref());
  };

  return {
    watch(sandboxId, expiresAtMs) {
      if (timers.has(sandboxId)) return;
      wait(sandboxId, Math.max(0, expiresAtMs - clock.nowMs()));
    },
    watches: (sandboxId) => timers.has(sandboxId),
    forget(sandboxId) {
      clearTimeout(timers.get(sandboxId));
      timers.delete(sandboxId);
    },
    close() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
