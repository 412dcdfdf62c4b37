import type { AttachmentStore } from "../attachment-store.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

type ForsakingCommands = Pick<AttachmentStore, "listForsaken" | "isForsaken" | "retain" | "settleForsaken">;

const LIVING = "ended_at_ms IS NULL AND state IN ('running', 'paused')";

export function forsakingCommands({ prepare, commit, commitSoon }: Connection): ForsakingCommands {
  return {
    async listForsaken() {
      const rows = prepare(`SELECT * FROM sandboxes WHERE forsaken = 1 AND ${LIVING}`).all();
      return (rows as unknown as SandboxRow[]).map((row) => ({
        sandbox: toSandbox(row),
        hibernates: row.hibernates === 1,
        ...(row.retention_ms !== null && { retentionMs: row.retention_ms }),
      }));
    },

    async isForsaken(sandboxId) {
      return prepare("SELECT 1 FROM sandboxes WHERE id = ? AND forsaken = 1").get(sandboxId) !== undefined;
    },

    async retain({ sandboxId, expiresAtMs }) {
      return commit(() => {
        const row = prepare(
          `UPDATE sandboxes SET full_expires_at_ms = coalesce(full_expires_at_ms, expires_at_ms),
             expires_at_ms = min(expires_at_ms, ?) WHERE id = ? AND forsaken = 1 AND ${LIVING} RETURNING *`,
        ).get(expiresAtMs, sandboxId) as unknown as SandboxRow | undefined;
        return row && toSandbox(row);
      });
    },

    async settleForsaken(sandboxId) {
      commitSoon(() => prepare("UPDATE sandboxes SET forsaken = 0 WHERE id = ?").run(sandboxId));
    },
  };
}

/** Within a write: marks which of these nobody is attached to any more. */
export function markForsaken({ prepare }: Connection, sandboxIds: readonly string[]): void {
  prepare(
    `UPDATE sandboxes SET forsaken = 1 WHERE id IN (SELECT value FROM json_each(?)) AND ended_at_ms IS NULL
       AND NOT EXISTS (SELECT 1 FROM attachments
         WHERE sandbox_id = sandboxes.id AND implicit = 0 AND detached_at_ms IS NULL)`,
  ).run(JSON.stringify(sandboxIds));
}
