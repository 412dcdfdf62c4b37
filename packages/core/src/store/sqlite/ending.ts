import { assertMove, type Sandbox } from "@sandboxer/contract";
import type { EndSandbox, Store } from "../store.ts";
import { appendEvent } from "./events.ts";
import { settleCharge } from "./metering.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

type EndingCommands = Pick<Store, "failCreate" | "beginDestroy" | "finishDestroy" | "markGone">;
type End = "destroyed" | "expired" | "failed" | "lost";

export function endingCommands(connection: Connection): EndingCommands {
  const { prepare, commit, commitSoon, onDisk } = connection;
  return {
    async failCreate(end) {
      return commit(() => endSandbox(connection, ["provisioning"], end, () => "failed"));
    },

    async beginDestroy({ sandboxId, ending, reason, atMs, principalId, earlier = [] }) {
      return commitSoon(() => {
        for (const event of earlier) appendEvent(connection, event);
        const row = prepare(
          `UPDATE sandboxes SET state = 'destroying', pause_depth = NULL, ending = ?, reason = ?
           WHERE id = ? AND state IN ('running', 'paused') RETURNING *`,
        ).get(ending, reason, sandboxId) as unknown as SandboxRow | undefined;
        if (!row) return undefined;
        appendEvent(connection, {
          type: "sandbox.destroying",
          orgId: row.org_id,
          atMs,
          sandboxId,
          principalId,
          data: { reason },
        });
        return toSandbox(row);
      });
    },

    async finishDestroy(end) {
      const ended = commitSoon(() =>
        endSandbox(connection, ["destroying"], end, ({ ending }) => ending ?? "destroyed"),
      );
      // What a power cut ends is over by one, too; only what it cost has to be known for certain.
      const isToldAtOnce = end.endsWithThisMachine && ended?.costMicroUsd === 0;
      if (!isToldAtOnce) await onDisk();
      return ended;
    },

    async markGone(end) {
      return commit(() => endSandbox(connection, ["running", "paused"], end, () => end.to));
    },
  };
}

/** Every end is the same commit: the state, the stopped meter, the money, the event. */
function endSandbox(
  connection: Connection,
  from: readonly Sandbox["state"][],
  end: EndSandbox,
  becomes: (row: SandboxRow) => End,
): Sandbox | undefined {
  const { sandboxId, atMs } = end;
  const row = connection.prepare("SELECT * FROM sandboxes WHERE id = ?").get(sandboxId) as unknown as
    | SandboxRow
    | undefined;
  if (!row || !from.includes(row.state)) return undefined;
  const state = becomes(row);
  assertMove(row.state, state);

  const { cost_micro_usd: costMicroUsd } = settleCharge(connection, row, atMs);
  const reason = end.reason ?? row.reason;
  const ended = connection
    .prepare(
      `UPDATE sandboxes SET state = ?, pause_depth = NULL, reason = ?, ended_at_ms = ?, cost_micro_usd = ?
       WHERE id = ? AND state = ? RETURNING *`,
    )
    .get(state, reason, atMs, costMicroUsd, sandboxId, row.state) as unknown as SandboxRow;
  appendEvent(connection, {
    type: `sandbox.${state}`,
    orgId: row.org_id,
    atMs,
    sandboxId,
    principalId: end.principalId,
    data: { ...end.data, reason, costMicroUsd },
  });
  return toSandbox(ended);
}
