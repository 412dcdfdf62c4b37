import { SandboxerError } from "@sandboxer/contract";

/** https://sqlite.org/rescode.html; the low byte of an extended code is its primary one. */
const IOERR_SHMSIZE = 4874;
const CORRUPT = 11;
const FULL = 13;
const NOTADB = 26;

/** What SQLite says of its file, in the house's words. Everything else stays as it is. */
export function fromSqlite(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !("errcode" in thrown)) return thrown;
  const code = Number(thrown.errcode);
  // Without room the shared-memory file beside the database cannot grow either.
  if ((code & 0xff) === FULL || code === IOERR_SHMSIZE) {
    return new SandboxerError("storage_full", "the disk that holds this gateway's data is full", {
      hint: "Free some space there; the gateway goes on by itself.",
      cause: thrown,
    });
  }
  if ((code & 0xff) === CORRUPT || (code & 0xff) === NOTADB) {
    return new SandboxerError("internal", `the database is damaged: ${thrown.message}`, {
      hint: "Stop the gateway and keep a copy of state.db and state.db-wal. Then put a backup in their place, or rescue what can be read: sqlite3 state.db .recover | sqlite3 rescued.db",
      cause: thrown,
    });
  }
  return thrown;
}

/** The same commands, failing in the house's words. */
export function inOurWords<T extends object>(commands: T): T {
  const translated = Object.entries(commands).map(([name, command]) => [
    name,
    async (...given: unknown[]) => {
      try {
        return await command(...given);
      } catch (error) {
        throw fromSqlite(error);
      }
    },
  ]);
  return Object.fromEntries(translated) as T;
}
