import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { openLogSync } from "./log-sync.ts";
import { createMemory, type Memory, type Topic } from "./memory.ts";
import { migrate } from "./migrations.ts";

const BUSY_TIMEOUT_MS = 5_000;

/** One connection: statements prepared once, writes one at a time. */
export interface Connection {
  prepare(sql: string): StatementSync;
  /** Takes the write lock first, so that what is read inside still holds when it is written. */
  write<T>(work: () => T): T;
  /** The same; the disk is waited for beside the event loop, together with whoever else waits. */
  commit<T>(work: () => T): Promise<T>;
  /** The same without the wait: outlives this process at once, and a power cut a moment later. */
  commitSoon<T>(work: () => T): T;
  /** The wait by itself, for all that was committed before. */
  onDisk(): Promise<void>;
  /** The same for events alone, which nothing that is remembered is made of. */
  append(work: () => void): void;
  /**
   * What was read before, as long as nobody, here or in another process, wrote anything that it is
   * made of: of sandboxes anything but events, of keys anything about keys.
   */
  remember<T>(topic: Topic, key: string, read: () => T): T;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** For a process that acknowledges nothing before it closes: the disk is waited for then, once. */
  readonly syncsAtClose?: boolean;
}

export function openConnection(path: string, { syncsAtClose = false }: OpenOptions = {}): Connection {
  keepPrivate(path);
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF");

  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known) return known;
    const statement = db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  const memory = createMemory(prepare("PRAGMA data_version"));
  const transact = <T>(work: () => T): T => {
    prepare("BEGIN IMMEDIATE").run();
    try {
      const result = work();
      prepare("COMMIT").run();
      return result;
    } catch (error) {
      if (db.isTransaction) prepare("ROLLBACK").run();
      throw error;
    }
  };

  /** In the log, where every reader sees it, but not yet on the disk. */
  const writeAhead = <T>(work: () => T): T => {
    try {
      return transact(work);
    } finally {
      memory.forget("sandboxes");
    }
  };
  /**
   * Survives a power cut once it is answered: FULL syncs the log within the commit. The hot path
   * syncs by itself and is NORMAL, so that it does not say so at every commit: SQLite takes longer
   * to read these words than to do most of what is committed there.
   */
  const write = <T>(work: () => T): T => {
    db.exec("PRAGMA synchronous = FULL");
    try {
      return writeAhead(work);
    } finally {
      db.exec("PRAGMA synchronous = NORMAL");
    }
  };

  const logSync = openLogSync(`${path}-wal`);
  const onDisk = async (): Promise<void> => {
    if (syncsAtClose) logSync.start();
    else await logSync.reached();
  };

  write(() => migrate(db));
  forgetChangedKeys(db, memory);
  return {
    prepare,
    write,
    async commit(work) {
      const result = writeAhead(work);
      await onDisk();
      return result;
    },
    commitSoon(work) {
      const result = writeAhead(work);
      logSync.start();
      return result;
    },
    append(work) {
      transact(work);
      logSync.start();
    },
    onDisk,
    remember: memory.remember,
    async close() {
      await logSync.close();
      db.close();
    },
  };
}

/** By triggers of this connection alone, so that no command can change a key and leave it remembered. */
function forgetChangedKeys(db: DatabaseSync, memory: Memory): void {
  db.function("forget_keys", () => {
    memory.forget("keys");
    return null;
  });
  for (const table of ["keys", "principals"]) {
    for (const change of ["INSERT", "UPDATE", "DELETE"]) {
      db.exec(
        `CREATE TEMP TRIGGER ${table}_${change} AFTER ${change} ON main.${table} BEGIN SELECT forget_keys(); END`,
      );
    }
  }
}

/** Specs carry variables and rows carry key hashes: nobody else on the machine may read them. */
function keepPrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
}
