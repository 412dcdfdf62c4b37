import { isOver } from "@sandboxer/contract";
import type { AttachmentStore } from "../attachment-store.ts";
import { type AttachmentRow, insertAttachment, toAttachment } from "./attachment-row.ts";
import { appendEvent } from "./events.ts";
import { markForsaken } from "./forsaking.ts";
import { claimOnce } from "./idempotency.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

type AttachmentCommands = Omit<AttachmentStore, "listForsaken" | "isForsaken" | "retain" | "settleForsaken">;

export function attachmentCommands(connection: Connection): AttachmentCommands {
  const { prepare, commit, commitSoon } = connection;
  const all = (sql: string, ...given: string[]) =>
    (prepare(sql).all(...given) as unknown as AttachmentRow[]).map(toAttachment);
  const find = (sandboxId: string, principalId: string) => {
    const implicit = "SELECT * FROM attachments WHERE sandbox_id = ? AND principal_id = ? AND implicit = 1";
    return all(implicit, sandboxId, principalId)[0];
  };
  return {
    async ensureAttachment(attachment) {
      const { sandboxId, principalId } = attachment;
      return commitSoon(() => {
        const known = find(sandboxId, principalId);
        return known ?? insertAttachment(connection, { ...attachment, implicit: true });
      });
    },

    async attach({ attachment, claim, hibernate, retentionMs }) {
      return commit(() => {
        const { sandboxId, orgId, byPrincipalId, createdAtMs: atMs } = attachment;
        const row = prepare("SELECT * FROM sandboxes WHERE id = ?").get(sandboxId) as unknown as SandboxRow;
        if (isOver(row.state) || row.state === "destroying") return undefined;
        const written = insertAttachment(connection, attachment);
        claimOnce(connection, claim, { answer: JSON.stringify(written) });
        const data = { attachment: written };
        appendEvent(connection, {
          type: "sandbox.attached",
          orgId,
          atMs,
          sandboxId,
          principalId: byPrincipalId,
          data,
        });
        const kept = prepare(
          `UPDATE sandboxes SET hibernates = ?, forsaken = 0, retention_ms = coalesce(?, retention_ms),
             expires_at_ms = coalesce(full_expires_at_ms, expires_at_ms), full_expires_at_ms = NULL
           WHERE id = ? RETURNING *`,
        ).get(hibernate ? 1 : 0, retentionMs ?? null, sandboxId) as unknown as SandboxRow;
        return { attachment: written, sandbox: toSandbox(kept), returned: row.full_expires_at_ms !== null };
      });
    },

    async detach({ attachmentId, atMs, principalId }) {
      return commit(() => {
        const row = prepare(
          "UPDATE attachments SET detached_at_ms = ? WHERE id = ? AND detached_at_ms IS NULL RETURNING *",
        ).get(atMs, attachmentId) as unknown as AttachmentRow | undefined;
        if (!row) return undefined;
        const { org_id: orgId, sandbox_id: sandboxId } = row;
        markForsaken(connection, [sandboxId]);
        const data = { attachmentId, ofPrincipalId: row.principal_id };
        appendEvent(connection, { type: "sandbox.detached", orgId, atMs, sandboxId, principalId, data });
        return toAttachment(row);
      });
    },

    async getAttachment(orgId, attachmentId) {
      return all("SELECT * FROM attachments WHERE org_id = ? AND id = ?", orgId, attachmentId)[0];
    },

    async listAttachments(sandboxId) {
      return all("SELECT * FROM attachments WHERE sandbox_id = ? ORDER BY seq", sandboxId);
    },

    async attachmentsOf(sandboxId, principalId) {
      const sql = "SELECT * FROM attachments WHERE principal_id = ? AND sandbox_id = ? ORDER BY seq";
      return connection.remember("sandboxes", `of ${sandboxId} ${principalId}`, () =>
        all(sql, principalId, sandboxId),
      );
    },
  };
}
