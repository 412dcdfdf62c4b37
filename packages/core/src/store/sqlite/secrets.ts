import type { Secret } from "@sandboxer/contract";
import type { KeptSecret, SecretStore, Source } from "../secret-store.ts";
import { appendEvent } from "./events.ts";
import type { Connection } from "./open.ts";

interface SecretRow {
  id: string;
  org_id: string;
  name: string;
  principal_id: string;
  lineage: string;
  source: string;
  shape: string;
  bindings: string;
  variable: string;
  version: number;
  created_at_ms: number;
  rotated_at_ms: number;
}

interface GrantRow {
  principal_id: string;
  key_id: string;
  lineage: string;
  by_principal_id: string;
  at_ms: number;
}

export function secretCommands(connection: Connection): Omit<SecretStore, "grantSecret" | "revokeSecret"> {
  const { prepare, write } = connection;
  const rowOf = (orgId: string, name: string, principalId: string) =>
    prepare("SELECT * FROM secrets WHERE org_id = ? AND name = ? AND principal_id = ?").get(
      orgId,
      name,
      principalId,
    ) as unknown as SecretRow;
  const toSecret = (row: SecretRow): KeptSecret =>
    assemble(
      row,
      prepare("SELECT * FROM secret_grants WHERE secret_id = ? ORDER BY at_ms, key_id").all(
        row.id,
      ) as unknown as GrantRow[],
    );

  return {
    async setSecret({ id, orgId, name, principalId, lineage, source, shape, bindings, variable, atMs }) {
      return write(() => {
        prepare(
          `INSERT INTO secrets (id, org_id, name, principal_id, lineage, source, shape, bindings, variable,
             version, created_at_ms, rotated_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
           ON CONFLICT (org_id, name, principal_id) DO UPDATE SET source = excluded.source, bindings = excluded.bindings,
             variable = excluded.variable, version = version + 1, rotated_at_ms = excluded.rotated_at_ms`,
        ).run(
          ...[id, orgId, name, principalId, JSON.stringify(lineage), JSON.stringify(source)],
          ...[JSON.stringify(shape), JSON.stringify(bindings), variable, atMs, atMs],
        );
        const data = { name, ref: refOf(source), bindings };
        appendEvent(connection, { type: "secret.set", orgId, atMs, principalId, data });
        return toSecret(rowOf(orgId, name, principalId));
      });
    },

    async rotateSecret({ id, orgId, name, source, principalId, atMs }) {
      return write(() => {
        const row = prepare(
          `UPDATE secrets SET source = ?, version = version + 1, rotated_at_ms = ?
           WHERE org_id = ? AND id = ? RETURNING *`,
        ).get(JSON.stringify(source), atMs, orgId, id) as unknown as SecretRow | undefined;
        if (!row) return undefined;
        const data = { name, version: row.version };
        appendEvent(connection, { type: "secret.rotated", orgId, atMs, principalId, data });
        return toSecret(row);
      });
    },

    async getSecret(orgId, name, principalId) {
      const row = prepare(
        `SELECT * FROM secrets WHERE org_id = ? AND name = ? ORDER BY principal_id = ? DESC,
           EXISTS (SELECT 1 FROM secret_grants WHERE secret_id = id AND secret_grants.principal_id = ?) DESC,
           EXISTS (SELECT 1 FROM json_each(lineage) WHERE value = ?) DESC, created_at_ms, id LIMIT 1`,
      ).get(orgId, name, principalId, principalId, principalId) as unknown as SecretRow | undefined;
      return row && toSecret(row);
    },

    async listSecrets(orgId) {
      const rows = prepare("SELECT * FROM secrets WHERE org_id = ? ORDER BY name, created_at_ms, id").all(
        orgId,
      );
      return (rows as unknown as SecretRow[]).map(toSecret);
    },

    async deleteSecret({ id, orgId, name, principalId, atMs }) {
      return write(() => {
        const gone = prepare("DELETE FROM secrets WHERE org_id = ? AND id = ? RETURNING id").get(orgId, id);
        if (!gone) return false;
        appendEvent(connection, { type: "secret.deleted", orgId, atMs, principalId, data: { name } });
        return true;
      });
    },
  };
}

function assemble(row: SecretRow, grants: readonly GrantRow[]): KeptSecret {
  const source: Source = JSON.parse(row.source);
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    principalId: row.principal_id,
    ref: refOf(source),
    bindings: JSON.parse(row.bindings),
    variable: row.variable,
    version: row.version,
    grants: grants.map((grant): Secret["grants"][number] => ({
      keyId: grant.key_id,
      principalId: grant.principal_id,
      byPrincipalId: grant.by_principal_id,
      atMs: grant.at_ms,
    })),
    createdAtMs: row.created_at_ms,
    rotatedAtMs: row.rotated_at_ms,
    source,
    shape: JSON.parse(row.shape),
    lineage: JSON.parse(row.lineage),
    grantLineages: grants.map(({ lineage }) => JSON.parse(lineage)),
  };
}

/** Where it is, without a word of what it is: of a command only the program, since arguments may tell more. */
function refOf(source: Source): string {
  if (source.kind === "env") return `env:${source.variable}`;
  if (source.kind === "file") return `file:${source.path}`;
  return source.kind === "command" ? `command:${source.argv[0]}` : "vault:";
}
