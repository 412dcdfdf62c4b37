import { SandboxerError } from "@sandboxer/contract";
import type { SecretStore } from "../secret-store.ts";
import { appendEvent } from "./events.ts";
import type { Connection } from "./open.ts";

export function secretGrantCommands(
  connection: Connection,
): Pick<SecretStore, "grantSecret" | "revokeSecret"> {
  const { prepare, write } = connection;
  return {
    async grantSecret({ id, orgId, name, keyId, toPrincipalId, toLineage, principalId, atMs }) {
      write(() => {
        const known = prepare("SELECT 1 FROM secrets WHERE org_id = ? AND id = ?").get(orgId, id);
        if (!known) throw new SandboxerError("not_found", `no secret ${name}`);
        const { changes } = prepare(
          `INSERT INTO secret_grants (secret_id, principal_id, key_id, lineage, by_principal_id, at_ms)
           VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
        ).run(id, toPrincipalId, keyId, JSON.stringify(toLineage), principalId, atMs);
        if (changes === 0) return;
        appendEvent(connection, { type: "secret.granted", orgId, atMs, principalId, data: { name, keyId } });
      });
    },

    async revokeSecret({ id, orgId, name, toPrincipalId, principalId, atMs }) {
      return write(() => {
        const rows = prepare(
          `DELETE FROM secret_grants WHERE secret_id = (SELECT id FROM secrets WHERE org_id = ? AND id = ?)
             AND EXISTS (SELECT 1 FROM json_each(lineage) WHERE value = ?) RETURNING key_id`,
        ).all(orgId, id, toPrincipalId) as unknown as { key_id: string }[];
        const revoked = rows.map(({ key_id }) => key_id);
        if (revoked.length > 0) {
          const data = { name, revoked };
          appendEvent(connection, { type: "secret.revoked", orgId, atMs, principalId, data });
        }
        return revoked;
      });
    },
  };
}
