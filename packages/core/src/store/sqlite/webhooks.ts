import { SandboxerError, type Webhook } from "@sandboxer/contract";
import type { DueWebhook, WebhookStore } from "../webhook-store.ts";
import { appendEvent } from "./events.ts";
import { claimOnce } from "./idempotency.ts";
import type { Connection } from "./open.ts";

interface WebhookRow {
  id: string;
  org_id: string;
  name: string | null;
  url: string;
  types: string | null;
  secret: string;
  cursor_seq: number;
  attempts: number;
  last_error: string | null;
  created_at_ms: number;
  disabled_at_ms: number | null;
}

export function webhookCommands(connection: Connection): WebhookStore {
  const { prepare, write } = connection;
  return {
    async insertWebhook({ id, orgId, principalId, url, name, types, secret, atMs }, claim) {
      return write(() => {
        claimOnce(connection, claim, { ...(claim && { answer: claim.answer }) });
        if (
          name !== undefined &&
          prepare("SELECT 1 FROM webhooks WHERE org_id = ? AND name = ?").get(orgId, name)
        ) {
          throw new SandboxerError("conflict", `a webhook named ${name} is there`);
        }
        const data = { webhookId: id, url };
        appendEvent(connection, { type: "webhook.created", orgId, atMs, principalId, data });
        const row = prepare(
          `INSERT INTO webhooks (id, org_id, name, url, types, secret, created_at_ms, cursor_seq)
           VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT max(seq) FROM events WHERE org_id = ?)) RETURNING *`,
        ).get(id, orgId, name ?? null, url, types ? JSON.stringify(types) : null, secret, atMs, orgId);
        return toWebhook(row as unknown as WebhookRow);
      });
    },

    async listWebhookSecrets() {
      return prepare("SELECT id, secret FROM webhooks").all() as unknown as { id: string; secret: string }[];
    },

    async replaceWebhookSecret(webhookId, secret) {
      write(() => prepare("UPDATE webhooks SET secret = ? WHERE id = ?").run(secret, webhookId));
    },

    async listWebhooks(orgId) {
      const rows = prepare("SELECT * FROM webhooks WHERE org_id = ? ORDER BY created_at_ms, id").all(orgId);
      return (rows as unknown as WebhookRow[]).map(toWebhook);
    },

    async deleteWebhook({ orgId, webhookId, principalId, atMs }) {
      return write(() => {
        const gone = prepare("DELETE FROM webhooks WHERE org_id = ? AND id = ? RETURNING id").get(
          orgId,
          webhookId,
        );
        if (!gone) return false;
        appendEvent(connection, { type: "webhook.deleted", orgId, atMs, principalId, data: { webhookId } });
        return true;
      });
    },

    async listDueWebhooks(nowMs) {
      const rows = prepare(
        `SELECT * FROM webhooks WHERE disabled_at_ms IS NULL AND next_attempt_at_ms <= ?
         AND cursor_seq < (SELECT max(seq) FROM events WHERE events.org_id = webhooks.org_id)`,
      ).all(nowMs) as unknown as WebhookRow[];
      return rows.map((row): DueWebhook => ({ ...toWebhook(row), secret: row.secret }));
    },

    async advanceWebhook(webhookId, cursorSeq) {
      const moved = write(() =>
        prepare(
          `UPDATE webhooks SET cursor_seq = ?, attempts = 0, last_error = NULL, next_attempt_at_ms = 0
           WHERE id = ? AND cursor_seq < ? RETURNING id`,
        ).get(cursorSeq, webhookId, cursorSeq),
      );
      return moved !== undefined;
    },

    async failWebhook({ webhookId, cursorSeq, error, atMs, nextAttemptAtMs }) {
      write(() => {
        const row = prepare(
          `UPDATE webhooks SET attempts = attempts + 1, last_error = ?, next_attempt_at_ms = ?, disabled_at_ms = ?
           WHERE id = ? AND cursor_seq = ? AND disabled_at_ms IS NULL RETURNING *`,
        ).get(
          error,
          nextAttemptAtMs ?? 0,
          nextAttemptAtMs === undefined ? atMs : null,
          webhookId,
          cursorSeq,
        ) as unknown as WebhookRow | undefined;
        if (!row || nextAttemptAtMs !== undefined) return;
        const data = { webhookId, error };
        appendEvent(connection, { type: "webhook.disabled", orgId: row.org_id, atMs, data });
      });
    },
  };
}

function toWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id,
    orgId: row.org_id,
    ...(row.name !== null && { name: row.name }),
    url: row.url,
    ...(row.types !== null && { types: JSON.parse(row.types) }),
    cursorSeq: row.cursor_seq,
    createdAtMs: row.created_at_ms,
    attempts: row.attempts,
    ...(row.last_error !== null && { lastError: row.last_error }),
    ...(row.disabled_at_ms !== null && { disabledAtMs: row.disabled_at_ms }),
  };
}
