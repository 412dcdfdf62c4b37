import type { ApprovalStore, KeptApproval } from "../approval-store.ts";
import { appendEvent } from "./events.ts";
import type { Connection } from "./open.ts";

interface ApprovalRow {
  id: string;
  org_id: string;
  sandbox_id: string | null;
  requesters: string;
  lineage: string;
  action: string;
  digest: string;
  state: KeptApproval["state"];
  scope: KeptApproval["scope"] | null;
  created_at_ms: number;
  expires_at_ms: number;
  decided_at_ms: number | null;
  decided_by: string | null;
}

type Commands = Pick<
  ApprovalStore,
  "askApproval" | "getApproval" | "listApprovals" | "countPending" | "useApproval" | "withdrawApproval"
>;

export function approvalCommands(connection: Connection): Commands {
  const { prepare, write } = connection;
  return {
    async askApproval({ id, orgId, sandboxId, requesters, lineage, action, digest, principalId, ...times }) {
      return write(() => {
        const { createdAtMs: atMs, expiresAtMs } = times;
        const same = prepare(
          "SELECT * FROM approvals WHERE digest = ? AND org_id = ? AND state = 'pending' AND expires_at_ms > ?",
        ).get(digest, orgId, atMs);
        if (same) return toApproval(same as unknown as ApprovalRow);
        const row = prepare(
          `INSERT INTO approvals (id, org_id, sandbox_id, requesters, lineage, action, digest, state,
             created_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?) RETURNING *`,
        ).get(
          ...[id, orgId, sandboxId ?? null, JSON.stringify(requesters), JSON.stringify(lineage)],
          ...[JSON.stringify(action), digest, atMs, expiresAtMs],
        );
        const data = { approvalId: id, kind: action.kind, expiresAtMs };
        appendEvent(connection, { type: "approval.requested", orgId, atMs, sandboxId, principalId, data });
        return toApproval(row as unknown as ApprovalRow);
      });
    },

    async getApproval(orgId, approvalId) {
      const row = prepare("SELECT * FROM approvals WHERE org_id = ? AND id = ?").get(orgId, approvalId);
      return row && toApproval(row as unknown as ApprovalRow);
    },

    async listApprovals(orgId, states, limit) {
      const rows = prepare(
        `SELECT * FROM approvals WHERE org_id = ? AND state IN (SELECT value FROM json_each(?))
         ORDER BY seq DESC LIMIT ?`,
      ).all(orgId, JSON.stringify(states), limit);
      return (rows as unknown as ApprovalRow[]).map(toApproval);
    },

    async countPending(sandboxId) {
      const row = prepare(
        "SELECT count(*) AS many FROM approvals WHERE sandbox_id = ? AND state = 'pending'",
      );
      return (row.get(sandboxId) as { many: number }).many;
    },

    async useApproval({ orgId, principalId, digest, atMs }) {
      return write(() => {
        const row = prepare(
          `UPDATE approvals SET state = 'used' WHERE id = (SELECT id FROM approvals WHERE digest = ? AND org_id = ?
             AND state = 'approved' AND expires_at_ms > ? ORDER BY seq LIMIT 1) RETURNING *`,
        ).get(digest, orgId, atMs) as unknown as ApprovalRow | undefined;
        if (!row) return false;
        const data = { approvalId: row.id };
        const sandboxId = row.sandbox_id ?? undefined;
        appendEvent(connection, { type: "approval.used", orgId, atMs, sandboxId, principalId, data });
        return true;
      });
    },

    async withdrawApproval(approvalId, atMs) {
      write(() => {
        const row = prepare(
          "UPDATE approvals SET state = 'withdrawn', decided_at_ms = ? WHERE id = ? AND state = 'pending' RETURNING *",
        ).get(atMs, approvalId) as unknown as ApprovalRow | undefined;
        if (!row) return;
        const { org_id: orgId, sandbox_id } = row;
        const event = { type: "approval.withdrawn", orgId, atMs, data: { approvalId } } as const;
        appendEvent(connection, { ...event, sandboxId: sandbox_id ?? undefined });
      });
    },
  };
}

export function toApproval(row: ApprovalRow): KeptApproval {
  return {
    id: row.id,
    orgId: row.org_id,
    ...(row.sandbox_id !== null && { sandboxId: row.sandbox_id }),
    requesters: JSON.parse(row.requesters),
    action: JSON.parse(row.action),
    state: row.state,
    ...(row.scope !== null && { scope: row.scope }),
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    ...(row.decided_at_ms !== null && { decidedAtMs: row.decided_at_ms }),
    ...(row.decided_by !== null && { decidedByPrincipalId: row.decided_by }),
    digest: row.digest,
    lineage: JSON.parse(row.lineage),
  };
}

export type { ApprovalRow };
