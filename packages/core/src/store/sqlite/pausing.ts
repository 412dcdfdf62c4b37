import type { ChangeState, Store } from "../store.ts";
import { appendEvent } from "./events.ts";
import { changeRate } from "./metering.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

export function pausingCommands(connection: Connection): Pick<Store, "pause" | "resume"> {
  const { prepare, write } = connection;
  const change = (
    { sandboxId, atMs, principalId, reason }: ChangeState,
    sql: string,
    type: "sandbox.paused" | "sandbox.resumed",
    rateOf: (row: SandboxRow) => number,
  ) =>
    write(() => {
      const row = prepare(sql).get(sandboxId) as unknown as SandboxRow | undefined;
      if (!row) return undefined;
      const rated = changeRate(connection, row, rateOf(row), atMs);
      const data = { reason, microUsdPerHour: rated.micro_usd_per_hour };
      appendEvent(connection, { type, orgId: row.org_id, atMs, sandboxId, principalId, data });
      return toSandbox(rated);
    });

  return {
    async pause(asked) {
      const sql = `UPDATE sandboxes SET state = 'paused', pause_depth = 'memory'
                   WHERE id = ? AND state = 'running' RETURNING *`;
      return change(asked, sql, "sandbox.paused", (row) => row.paused_micro_usd_per_hour);
    },
    async resume(asked) {
      const sql = `UPDATE sandboxes SET state = 'running', pause_depth = NULL
                   WHERE id = ? AND state = 'paused' RETURNING *`;
      return change(asked, sql, "sandbox.resumed", (row) => row.running_micro_usd_per_hour);
    },
  };
}
