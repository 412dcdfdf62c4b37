import { existsSync } from "node:fs";
import { join } from "node:path";
import { SandboxerError } from "@sandboxer/contract";
import { backupSqliteStore, restoreSqliteStore } from "@sandboxer/core";
import { lockHome } from "./lock.ts";
import { makeHome } from "./make-home.ts";

/** Keys, sandboxes, money and the log, as they are at one moment; a gateway may go on meanwhile. */
export async function backupHome(home: string, to: string, draft: string): Promise<void> {
  const store = join(home, "state.db");
  if (!existsSync(store)) throw new SandboxerError("not_found", `there is nothing to back up in ${home}`);
  await backupSqliteStore(store, to, draft);
}

/** Only while no gateway runs. The next start puts right what has changed since the backup. */
export function restoreHome(home: string, from: string): void {
  makeHome(home);
  const unlock = lockHome(home);
  try {
    restoreSqliteStore(from, join(home, "state.db"), Date.now());
  } finally {
    unlock();
  }
}
