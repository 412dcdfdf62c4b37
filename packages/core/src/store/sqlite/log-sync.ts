import { close, fdatasync, openSync } from "node:fs";
import { SandboxerError } from "@sandboxer/contract";

/** Whoever ends something within that time takes with it what was begun: one sync instead of two. */
const SOON_MS = 10;

type Settle = (error: Error | null) => void;

/** By hand, since this is among the first things that every short command loads. */
function settled(begin: (settle: Settle) => void): Promise<void> {
  return new Promise((resolve, reject) => begin((error) => (error ? reject(error) : resolve())));
}

/** Brings SQLite's write-ahead log to the disk beside the event loop, for many commits at once. */
export interface LogSync {
  /** Resolves when all that was committed before the call is on the disk. */
  reached(): Promise<void>;
  /** Asks for the same, soon and without waiting; whoever waits next hears of a failure. */
  start(): void;
  close(): Promise<void>;
}

/**
 * A sync that is under way may have begun before the caller's commit, so it does not count: callers
 * share the one that comes after it. Once a sync has failed nothing is known about the disk any
 * more, and everything is refused until the store is opened anew.
 */
export function createLogSync(sync: () => Promise<void>, done: () => Promise<void>): LogSync {
  let running: Promise<void> | undefined;
  let following: Promise<void> | undefined;
  let broken: SandboxerError | undefined;
  let due: NodeJS.Timeout | undefined;

  const run = async (): Promise<void> => {
    try {
      await sync();
    } catch (cause) {
      broken = new SandboxerError("internal", "the disk did not take what was written", { cause });
      throw broken;
    } finally {
      running = undefined;
    }
  };
  const reached = async (): Promise<void> => {
    if (broken) throw broken;
    clearTimeout(due);
    due = undefined;
    if (!running) {
      running = run();
      return running;
    }
    following ??= running.then(() => {
      following = undefined;
      return reached();
    });
    return following;
  };
  return {
    reached,
    start() {
      due ??= setTimeout(() => reached().catch(() => {}), SOON_MS).unref();
    },
    async close() {
      if (due) await reached().catch(() => {});
      await Promise.allSettled([running, following]);
      await done();
    },
  };
}

/**
 * Opened when there is something to sync: by then the log exists, and it stays the same file as
 * long as the database is open. Nothing locks the log, so closing this descriptor frees no lock.
 */
export function openLogSync(log: string): LogSync {
  let descriptor: number | undefined;
  return createLogSync(
    () => {
      descriptor ??= openSync(log, "r");
      const opened = descriptor;
      return settled((settle) => fdatasync(opened, settle));
    },
    async () => {
      const opened = descriptor;
      if (opened !== undefined) await settled((settle) => close(opened, settle));
    },
  );
}
