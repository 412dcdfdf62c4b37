import { SandboxerError } from "@sandboxer/contract";
import type { Report } from "../report.ts";
import type { NewEvent, Store } from "../store/store.ts";

const GATHER_MS = 20;
const GATHER_AT_MOST = 256;

export interface Journal {
  record(event: NewEvent): Promise<void>;
  /** Resolves when all that was recorded is durable. */
  flush(): Promise<void>;
  /** Has all that was recorded written by another command; it is kept where that fails. */
  writeWith<T>(command: (earlier: readonly NewEvent[]) => Promise<T>): Promise<T>;
}

/**
 * Group commit for events that go with no change of state and no money, so that an exec does not
 * wait for a disk: the price is that a crash can lose the last 20 milliseconds of them. An end
 * flushes first, so a process never appears to start after its sandbox is over. When the log cannot
 * be written, what is gathered is kept and `record` refuses: nothing runs that would go unrecorded.
 */
export function createJournal(store: Store, report: Report): Journal {
  let gathered: NewEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  let failed = false;

  const writeBy = async <T>(command: (batch: readonly NewEvent[]) => Promise<T>): Promise<T> => {
    const batch = gathered;
    gathered = [];
    try {
      const written = await command(batch);
      failed = false;
      return written;
    } catch (error) {
      gathered = [...batch, ...gathered];
      failed = true;
      throw error;
    }
  };
  const write = async (): Promise<void> => {
    if (gathered.length > 0) await writeBy((batch) => store.appendEvents(batch));
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.catch(() => {}).then(write);
    return writing;
  };
  const writeWith = <T>(command: (earlier: readonly NewEvent[]) => Promise<T>): Promise<T> => {
    clearTimeout(timer);
    timer = undefined;
    const written = writing.catch(() => {}).then(() => writeBy(command));
    writing = written.then(() => {});
    writing.catch(() => {});
    return written;
  };
  const flushUnheard = () => flush().catch((error) => report("writing events", SandboxerError.from(error)));

  return {
    async record(event) {
      if (failed) await flush();
      gathered.push(event);
      if (gathered.length >= GATHER_AT_MOST) flushUnheard();
      else timer ??= setTimeout(flushUnheard, GATHER_MS).unref();
    },
    flush,
    writeWith,
  };
}
