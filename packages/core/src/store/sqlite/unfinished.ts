import type { Store, UnfinishedSandbox } from "../store.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

type UnfinishedCommands = Pick<Store, "listUnfinished" | "listStanding" | "listMarked" | "getUnfinished">;

/** For the house itself, which puts right what a crash left behind. */
export function unfinishedCommands({ prepare }: Connection): UnfinishedCommands {
  return {
    async listUnfinished() {
      const rows = prepare("SELECT * FROM sandboxes WHERE ended_at_ms IS NULL ORDER BY seq").all();
      return (rows as unknown as SandboxRow[]).map(toUnfinished);
    },

    async listStanding() {
      const rows = prepare(
        "SELECT id, state, pause_depth, extension_id FROM sandboxes WHERE ended_at_ms IS NULL ORDER BY seq",
      ).all() as unknown as Pick<SandboxRow, "id" | "state" | "pause_depth" | "extension_id">[];
      return rows.map(({ id, state, pause_depth, extension_id }) => ({
        id,
        state,
        pauseDepth: pause_depth ?? undefined,
        extensionId: extension_id ?? undefined,
      }));
    },

    async listMarked(label) {
      const rows = prepare(
        `SELECT * FROM sandboxes WHERE ended_at_ms IS NULL AND state IN ('running', 'paused')
         AND EXISTS (SELECT 1 FROM json_each(spec, '$.labels') WHERE key = ?) ORDER BY seq`,
      ).all(label);
      return (rows as unknown as SandboxRow[]).map(toSandbox);
    },

    async getUnfinished(sandboxId) {
      const row = prepare("SELECT * FROM sandboxes WHERE id = ? AND ended_at_ms IS NULL").get(sandboxId);
      return row && toUnfinished(row as unknown as SandboxRow);
    },
  };
}

function toUnfinished(row: SandboxRow): UnfinishedSandbox {
  return { ...toSandbox(row), ...(row.creator !== null && { creator: row.creator }) };
}
