import { SandboxerError } from "@sandboxer/contract";
import type { Clock } from "../clock.ts";
import type { Report } from "../report.ts";
import type { Store } from "../store/store.ts";

/** How often at most a use is written down, as a part of the time that counts as idle. */
const WRITTEN_PART = 10;
const WRITTEN_AT_MOST_MS = 1_000;

/** Ends what nobody uses any more, where its spec says after how long. */
export interface Idle {
  /** From now on; asking again changes nothing. */
  watch(sandboxId: string, idleMs: number | undefined): void;
  watches(sandboxId: string): boolean;
  /** Somebody is here. */
  use(sandboxId: string): void;
  forget(sandboxId: string): void;
  close(): void;
}

interface Watched {
  readonly idleMs: number;
  timer: NodeJS.Timeout;
  writtenAtMs: number;
}

interface Ground {
  readonly store: Store;
  readonly clock: Clock;
  readonly report: Report;
  /** How much longer it may be left alone; nothing when it was ended for that. */
  leftMs(sandboxId: string, idleMs: number): Promise<number>;
}

/** A use counts at every gateway: each writes it down now and then, and looks there before an end. */
export function createIdle({ store, clock, report, leftMs }: Ground): Idle {
  const watched = new Map<string, Watched>();
  const forget = (sandboxId: string) => {
    clearTimeout(watched.get(sandboxId)?.timer);
    watched.delete(sandboxId);
  };
  const later = (sandboxId: string, delayMs: number) =>
    setTimeout(() => {
      const known = watched.get(sandboxId);
      if (!known) return;
      leftMs(sandboxId, known.idleMs)
        .then((moreMs) => {
          if (moreMs > 0) known.timer = later(sandboxId, moreMs);
          else forget(sandboxId);
        })
        .catch((error) => {
          report(`ending ${sandboxId}, which nobody uses`, SandboxerError.from(error));
          known.timer = later(sandboxId, known.idleMs);
        });
    }, delayMs).unref();
  return {
    watch(sandboxId, idleMs) {
      if (idleMs === undefined || watched.has(sandboxId)) return;
      watched.set(sandboxId, { idleMs, timer: later(sandboxId, idleMs), writtenAtMs: 0 });
    },
    watches: (sandboxId) => watched.has(sandboxId),
    use(sandboxId) {
      const known = watched.get(sandboxId);
      if (!known) return;
      clearTimeout(known.timer);
      known.timer = later(sandboxId, known.idleMs);
      const nowMs = clock.monotonicMs();
      if (nowMs - known.writtenAtMs < writtenEveryMs(known.idleMs)) return;
      known.writtenAtMs = nowMs;
      store.touchSandbox(sandboxId, clock.nowMs()).catch((error) => report(`touching ${sandboxId}`, error));
    },
    forget,
    close() {
      for (const sandboxId of [...watched.keys()]) forget(sandboxId);
    },
  };
}

export function writtenEveryMs(idleMs: number): number {
  return Math.min(WRITTEN_AT_MOST_MS, idleMs / WRITTEN_PART);
}
