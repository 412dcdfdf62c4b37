import { type Org, SandboxerError } from "@sandboxer/contract";
import type { OrgStore } from "../org-store.ts";
import { setLimit } from "./budgets.ts";
import { appendEvent } from "./events.ts";
import { claimOnce } from "./idempotency.ts";
import { writeKey } from "./keys.ts";
import type { Connection } from "./open.ts";

export function orgCommands(connection: Connection): OrgStore {
  const { prepare, write } = connection;
  return {
    async rootOrgId() {
      const row = prepare("SELECT value FROM meta WHERE key = 'root-org'").get();
      return (row as { value: string } | undefined)?.value;
    },

    async insertOrg({ org, key, principalId, limitMicroUsd }, claim) {
      write(() => {
        claimOnce(connection, claim, { ...(claim && { answer: claim.answer }) });
        const { id: orgId, name, createdAtMs: atMs } = org;
        if (prepare("SELECT 1 FROM orgs WHERE name = ?").get(name)) {
          throw new SandboxerError("conflict", `an org named ${name} is there`);
        }
        prepare("INSERT INTO orgs (id, name, created_at_ms) VALUES (?, ?, ?)").run(orgId, name, atMs);
        appendEvent(connection, { type: "org.created", orgId, atMs, principalId, data: { name } });
        writeKey(connection, key);
        if (limitMicroUsd !== undefined) setLimit(connection, orgId, limitMicroUsd, { atMs, principalId });
      });
    },

    async listOrgs() {
      const rows = prepare("SELECT id, name, created_at_ms AS createdAtMs FROM orgs ORDER BY rowid").all();
      return rows.map((row) => ({ ...row })) as unknown as Org[];
    },
  };
}
