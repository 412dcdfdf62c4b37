import type { AttachmentStore } from "../attachment-store.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

type ForsakingCommands = Pick<AttachmentStore, "listForsaken" | "retain">;

const NOBODY = `NOT EXISTS (SELECT 1 FROM attachments
  WHERE sandbox_id = sandboxes.id AND implicit = 0 AND detached_at_ms IS NULL)`;

export function forsakingCommands({ prepare, commit }: Connection): ForsakingCommands {
  return {
    async listForsaken() {
      const rows = prepare(
        `SELECT * FROM sandboxes WHERE hibernates = 1 AND ended_at_ms IS NULL AND state IN ('running', 'paused')
           AND (state = 'running' OR (retention_ms IS NOT NULL AND full_expires_at_ms IS NULL))
           AND ${NOBODY}`,
      ).all() as unknown as SandboxRow[];
      return rows.map((row) => ({
        sandbox: toSandbox(row),
        ...(row.retention_ms !== null && { retentionMs: row.retention_ms }),
        retained: row.full_expires_at_ms !== null,
      }));
    },

    async retain({ sandboxId, expiresAtMs }) {
      return commit(() => {
        const row = prepare(
          `UPDATE sandboxes SET full_expires_at_ms = expires_at_ms, expires_at_ms = min(expires_at_ms, ?)
           WHERE id = ? AND full_expires_at_ms IS NULL AND state IN ('running', 'paused')
             AND ${NOBODY} RETURNING *`,
        ).get(expiresAtMs, sandboxId) as unknown as SandboxRow | undefined;
        return row && toSandbox(row);
      });
    },
  };
}
