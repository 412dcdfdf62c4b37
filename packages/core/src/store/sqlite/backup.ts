import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { backup, DatabaseSync } from "node:sqlite";
import { SandboxerError } from "@sandboxer/contract";
import { MIGRATIONS } from "./migrations.ts";

/**
 * A whole copy of one moment, taken while gateways go on writing. Never over a file that is there. Until
 * it is whole it is at `draft`, in the same folder.
 */
export async function backupSqliteStore(
  path: string,
  to: string,
  draft = `${to}.${process.pid}`,
): Promise<void> {
  if (existsSync(to)) throw new SandboxerError("path_exists", `${to} is there already`);
  const source = new DatabaseSync(path, { readOnly: true });
  try {
    await backup(source, draft);
    chmodSync(draft, 0o600);
    checkSqliteStore(draft);
    renameSync(draft, to);
  } finally {
    source.close();
    for (const file of [draft, `${draft}-wal`, `${draft}-shm`]) rmSync(file, { force: true });
  }
}

/** The caller has made sure that nobody has the store open. What was there stays beside it. */
export function restoreSqliteStore(from: string, path: string, atMs: number): void {
  checkSqliteStore(from);
  const draft = `${path}.${process.pid}`;
  copyFileSync(from, draft);
  chmodSync(draft, 0o600);
  for (const part of ["", "-wal", "-shm"]) {
    if (existsSync(`${path}${part}`)) renameSync(`${path}${part}`, `${path}.before-${atMs}${part}`);
  }
  renameSync(draft, path);
}

/** Whole, ours, and of no newer schema than this program knows. */
function checkSqliteStore(path: string): void {
  const wrong = (message: string, cause?: unknown) =>
    new SandboxerError("invalid_request", `${path} ${message}`, {
      hint: "Name a file that `sandboxer backup` made.",
      cause,
    });
  if (!existsSync(path)) throw wrong("is not there");
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true });
    const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
    if (version < 1 || version > MIGRATIONS.length) throw wrong(`is of schema ${version}`);
    const { integrity_check: verdict } = db.prepare("PRAGMA integrity_check").get() as {
      integrity_check: string;
    };
    if (verdict !== "ok") throw wrong(`is damaged: ${verdict}`);
  } catch (error) {
    throw SandboxerError.is(error) ? error : wrong("is no store", error);
  } finally {
    db?.close();
  }
}
