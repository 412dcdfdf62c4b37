import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { StatementSync } from "node:sqlite";

export interface Snapshots {
  /** How many there are so far. */
  count(): number;
  /** Takes the last one and gives them all, the oldest first. */
  stop(): string[];
}

/**
 * Copies a home before every statement that any store of this process runs, until stopped: what is
 * on the disk at such a moment is what a kill would leave. SQLite forgets what was not committed.
 */
export function snapshotBeforeEveryStatement(home: string, into: string): Snapshots {
  const taken: string[] = [];
  const prototype = StatementSync.prototype as unknown as Record<
    "run" | "get",
    (...given: unknown[]) => unknown
  >;
  const { run, get } = prototype;
  const before = (statement: (...given: unknown[]) => unknown) =>
    function (this: unknown, ...given: unknown[]) {
      taken.push(copy(home, join(into, String(taken.length))));
      return statement.apply(this, given);
    };
  prototype.run = before(run);
  prototype.get = before(get);
  return {
    count: () => taken.length,
    stop() {
      Object.assign(prototype, { run, get });
      taken.push(copy(home, join(into, String(taken.length))));
      return taken;
    },
  };
}

/** Without the shared-memory index, which dies with the processes that share it. */
function copy(home: string, place: string): string {
  mkdirSync(place, { recursive: true });
  for (const name of ["state.db", "state.db-wal", "plain"]) {
    if (existsSync(join(home, name))) cpSync(join(home, name), join(place, name), { recursive: true });
  }
  return place;
}
