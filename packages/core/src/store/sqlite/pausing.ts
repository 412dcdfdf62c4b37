import type { ChangeState, Store } from "../store.ts";
import { appendEvent } from "./events.ts";
import { changeRate } from "./metering.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

type PausingCommands = Pick<Store, "pause" | "resume" | "stop" | "start">;

interface Change {
  /** Which rows it is for. */
  readonly from: string;
  readonly to: "running" | "paused";
  readonly depth: "memory" | "disk" | null;
}

export function pausingCommands(connection: Connection): PausingCommands {
  const { prepare, write } = connection;
  const change = (asked: ChangeState & { readonly expiresAtMs?: number }, { from, to, depth }: Change) =>
    write(() => {
      const { sandboxId, atMs, principalId, reason, expiresAtMs } = asked;
      const row = prepare(`SELECT * FROM sandboxes WHERE id = ? AND ${from}`).get(sandboxId) as unknown as
        | SandboxRow
        | undefined;
      if (!row) return undefined;
      const rate = to === "running" ? row.running_micro_usd_per_hour : row.paused_micro_usd_per_hour;
      // What ran is charged up to the end that it had.
      const rated = changeRate(connection, row, rate, atMs);
      const changed = prepare(
        `UPDATE sandboxes SET state = ?, pause_depth = ?, expires_at_ms = coalesce(?, expires_at_ms),
           full_expires_at_ms = CASE WHEN ? IS NULL THEN full_expires_at_ms END WHERE id = ? RETURNING *`,
      ).get(to, depth, expiresAtMs ?? null, expiresAtMs ?? null, sandboxId) as unknown as SandboxRow;
      appendEvent(connection, {
        type: to === "running" ? "sandbox.resumed" : "sandbox.paused",
        orgId: row.org_id,
        atMs,
        sandboxId,
        principalId,
        data: { reason, depth: depth ?? row.pause_depth, microUsdPerHour: rated.micro_usd_per_hour },
      });
      return toSandbox(changed);
    });

  return {
    pause: async (asked) => change(asked, { from: "state = 'running'", to: "paused", depth: "memory" }),
    resume: async (asked) =>
      change(asked, { from: "state = 'paused' AND pause_depth = 'memory'", to: "running", depth: null }),
    stop: async (asked) =>
      change(asked, {
        from: "(state = 'running' OR (state = 'paused' AND pause_depth = 'memory'))",
        to: "paused",
        depth: "disk",
      }),
    start: async (asked) =>
      change(asked, { from: "state = 'paused' AND pause_depth = 'disk'", to: "running", depth: null }),
  };
}
