import type { ApprovalStore, DecideApproval, Elevation } from "../approval-store.ts";
import { type ApprovalRow, toApproval } from "./approvals.ts";
import { appendEvent } from "./events.ts";
import type { Connection } from "./open.ts";

type Commands = Pick<
  ApprovalStore,
  "decideApproval" | "expireApprovals" | "listElevations" | "endElevations"
>;

interface ElevationRow {
  approval_id: string;
  org_id: string;
  sandbox_id: string;
  rules: string;
  until_ms: number;
}

export function decidingCommands(connection: Connection): Commands {
  const { prepare, write } = connection;
  return {
    async decideApproval(decide) {
      return write(() => {
        const { approvalId, orgId, to, scope, principalId, atMs, usableUntilMs } = decide;
        const row = prepare(
          `UPDATE approvals SET state = ?, scope = ?, decided_at_ms = ?, decided_by = ?, expires_at_ms = ?
           WHERE id = ? AND org_id = ? AND state = 'pending' AND expires_at_ms > ? RETURNING *`,
        ).get(...[to, scope, atMs, principalId, usableUntilMs], ...[approvalId, orgId, atMs]) as unknown as
          | ApprovalRow
          | undefined;
        if (!row) return undefined;
        follow(connection, row, decide);
        return toApproval(row);
      });
    },

    async expireApprovals(nowMs) {
      const due =
        "SELECT 1 FROM approvals WHERE state IN ('pending', 'approved') AND expires_at_ms <= ? LIMIT 1";
      const over = "SELECT 1 FROM elevations WHERE ended_at_ms IS NULL AND until_ms <= ? LIMIT 1";
      if (!prepare(due).get(nowMs) && !prepare(over).get(nowMs)) return;
      write(() => {
        const rows = prepare(
          `UPDATE approvals SET state = 'expired' WHERE state IN ('pending', 'approved') AND expires_at_ms <= ?
           RETURNING *`,
        ).all(nowMs) as unknown as ApprovalRow[];
        for (const { id, org_id: orgId, sandbox_id } of rows) {
          const sandboxId = sandbox_id ?? undefined;
          const data = { approvalId: id };
          appendEvent(connection, { type: "approval.expired", orgId, atMs: nowMs, sandboxId, data });
        }
        endOf(connection, "until_ms <= ?", [nowMs], nowMs);
      });
    },

    async listElevations(sandboxId, nowMs) {
      const rows = prepare(
        "SELECT * FROM elevations WHERE sandbox_id = ? AND ended_at_ms IS NULL AND until_ms > ?",
      ).all(sandboxId, nowMs) as unknown as ElevationRow[];
      return rows.map(
        ({ approval_id, rules, until_ms }): Elevation => ({
          approvalId: approval_id,
          rules: JSON.parse(rules),
          untilMs: until_ms,
        }),
      );
    },

    async endElevations({ sandboxId, principalId, atMs }) {
      write(() => endOf(connection, "sandbox_id = ?", [sandboxId], atMs, principalId));
    },
  };
}

/** Within a write: what a word brings about is there with it, or neither is. */
function follow(connection: Connection, row: ApprovalRow, decide: DecideApproval): void {
  const { approvalId, orgId, to, scope, principalId, atMs, rule, elevation } = decide;
  const { prepare } = connection;
  const event = { orgId, atMs, principalId, sandboxId: row.sandbox_id ?? undefined };
  const type = to === "denied" ? "approval.denied" : "approval.approved";
  appendEvent(connection, { ...event, type, data: { approvalId, scope } });
  if (rule) {
    prepare(
      `UPDATE sandboxes SET spec = json_insert(spec, '$.network.rules[#]', json(?))
       WHERE id = ? AND spec ->> '$.network.egress' = 'guarded'`,
    ).run(JSON.stringify(rule), row.sandbox_id);
    appendEvent(connection, { ...event, type: "sandbox.network-changed", data: { approvalId, rule } });
  }
  if (elevation) {
    const { rules, untilMs } = elevation;
    prepare(
      "INSERT INTO elevations (approval_id, org_id, sandbox_id, rules, until_ms) VALUES (?, ?, ?, ?, ?)",
    ).run(...[approvalId, orgId, row.sandbox_id, JSON.stringify(rules), untilMs]);
    appendEvent(connection, { ...event, type: "elevation.started", data: { approvalId, rules, untilMs } });
  }
}

/** Within a write. */
function endOf(
  connection: Connection,
  which: string,
  values: readonly (string | number)[],
  atMs: number,
  principalId?: string,
): void {
  const rows = connection
    .prepare(`UPDATE elevations SET ended_at_ms = ? WHERE ended_at_ms IS NULL AND ${which} RETURNING *`)
    .all(atMs, ...values) as unknown as ElevationRow[];
  for (const { approval_id: approvalId, org_id: orgId, sandbox_id: sandboxId } of rows) {
    const data = { approvalId };
    appendEvent(connection, { type: "elevation.ended", orgId, atMs, sandboxId, principalId, data });
  }
}
