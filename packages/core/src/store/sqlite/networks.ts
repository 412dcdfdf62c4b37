import type { NetworkStore } from "../network-store.ts";
import { appendEvent } from "./events.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

export function networkCommands(connection: Connection): NetworkStore {
  const { prepare, write } = connection;
  const sql = `UPDATE sandboxes SET spec = json_set(spec, '$.network', json(?))
               WHERE id = ? AND state IN ('running', 'paused')
                 AND spec ->> '$.network.egress' = 'guarded' RETURNING *`;
  return {
    async changeNetwork({ sandboxId, network, atMs, principalId }) {
      return write(() => {
        const row = prepare(sql).get(JSON.stringify(network), sandboxId) as unknown as SandboxRow | undefined;
        if (!row) return undefined;
        const { org_id: orgId } = row;
        const type = "sandbox.network-changed";
        appendEvent(connection, { type, orgId, atMs, sandboxId, principalId, data: { network } });
        return toSandbox(row);
      });
    },
  };
}
