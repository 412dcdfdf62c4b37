import { type BeginCreate, LabelTaken, type Store } from "../store.ts";
import { appendEvent } from "./events.ts";
import { claimOnce } from "./idempotency.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

/** As the partial index has it, so that at most one row answers. */
const LIVING = "org_id = ? AND label = ? AND ended_at_ms IS NULL AND state <> 'destroying'";

export function reusingCommands(connection: Connection): Pick<Store, "findLabelled" | "reuseSandbox"> {
  const { prepare, commit } = connection;
  const living = (orgId: string, label: string) =>
    prepare(`SELECT * FROM sandboxes WHERE ${LIVING}`).get(orgId, label) as unknown as SandboxRow | undefined;
  return {
    async findLabelled(orgId, label) {
      const row = living(orgId, label);
      return row && toSandbox(row);
    },

    async reuseSandbox({ orgId, label, sandboxId, claim, principalId, atMs, data }) {
      return commit(() => {
        const row = living(orgId, label);
        if (row?.id !== sandboxId || row.state !== "running") return undefined;
        const sandbox = toSandbox(row);
        claimOnce(connection, claim, { answer: JSON.stringify(sandbox) });
        appendEvent(connection, { type: "sandbox.reused", orgId, atMs, sandboxId, principalId, data });
        return sandbox;
      });
    },
  };
}

/** Within a write. */
export function refuseTakenLabel({ prepare }: Connection, { sandbox, label }: BeginCreate): void {
  if (label === undefined) return;
  if (prepare(`SELECT 1 FROM sandboxes WHERE ${LIVING}`).get(sandbox.orgId, label)) throw new LabelTaken();
}
