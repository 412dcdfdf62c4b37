import { type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { Store } from "../store.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

type SandboxCommands = Pick<
  Store,
  "getSandbox" | "getSandboxById" | "listSandboxes" | "listUnfinished" | "ensureAttachment"
>;

export function sandboxCommands({ prepare, commitSoon }: Connection): SandboxCommands {
  const one = (sql: string, ...values: string[]): Sandbox | undefined => {
    const row = prepare(sql).get(...values) as unknown as SandboxRow | undefined;
    return row && toSandbox(row);
  };

  return {
    async getSandbox(orgId, idOrName) {
      return (
        one("SELECT * FROM sandboxes WHERE id = ? AND org_id = ?", idOrName, orgId) ??
        one("SELECT * FROM sandboxes WHERE org_id = ? AND name = ? AND ended_at_ms IS NULL", orgId, idOrName)
      );
    },

    async getSandboxById(sandboxId) {
      return one("SELECT * FROM sandboxes WHERE id = ?", sandboxId);
    },

    async listSandboxes({ orgId, states, limit, after }) {
      let before = Number.MAX_SAFE_INTEGER;
      if (after !== undefined) {
        const last = prepare("SELECT seq FROM sandboxes WHERE id = ? AND org_id = ?").get(after, orgId);
        if (!last) throw new SandboxerError("invalid_request", "after: no such sandbox");
        before = (last as { seq: number }).seq;
      }
      const ofOrg = "SELECT * FROM sandboxes WHERE org_id = ? AND seq < ?";
      const page = "ORDER BY seq DESC LIMIT ?";
      const rows = states
        ? prepare(`${ofOrg} AND state IN (SELECT value FROM json_each(?)) ${page}`).all(
            orgId,
            before,
            JSON.stringify(states),
            limit,
          )
        : prepare(`${ofOrg} ${page}`).all(orgId, before, limit);
      return (rows as unknown as SandboxRow[]).map(toSandbox);
    },

    async listUnfinished() {
      const rows = prepare("SELECT * FROM sandboxes WHERE ended_at_ms IS NULL ORDER BY seq").all();
      return (rows as unknown as SandboxRow[]).map(toSandbox);
    },

    async ensureAttachment(attachment) {
      const { id, orgId, sandboxId, principalId, createdAtMs } = attachment;
      const find = () =>
        prepare(
          "SELECT id, created_at_ms AS createdAtMs FROM attachments WHERE sandbox_id = ? AND principal_id = ?",
        ).get(sandboxId, principalId) as { id: string; createdAtMs: number } | undefined;
      // Reads first: after the first time there is nothing to write.
      const known = find();
      if (known) return { ...attachment, ...known };
      return commitSoon(() => {
        prepare(
          `INSERT INTO attachments (id, org_id, sandbox_id, principal_id, created_at_ms)
           VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
        ).run(id, orgId, sandboxId, principalId, createdAtMs);
        return { ...attachment, ...find() };
      });
    },
  };
}
