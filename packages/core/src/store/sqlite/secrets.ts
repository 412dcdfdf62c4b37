import { SandboxerError, type Secret } from "@sandboxer/contract";
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
  const rowOf = (orgId: string, name: string) =>
    prepare("SELECT * FROM secrets WHERE org_id = ? AND name = ?").get(orgId, name) as unknown as
      | SecretRow
      | undefined;
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
        const known = rowOf(orgId, name);
        if (known && known.principal_id !== principalId) {
          throw new SandboxerError("conflict", `a secret named ${name} is there`);
        }
        prepare(
          `INSERT INTO secrets (id, org_id, name, principal_id, lineage, source, shape, bindings, variable,
             version, created_at_ms, rotated_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
           ON CONFLICT (org_id, name) DO UPDATE SET source = excluded.source, bindings = excluded.bindings,
             variable = excluded.variable, version = version + 1, rotated_at_ms = excluded.rotated_at_ms`,
        ).run(
          ...[id, orgId, name, principalId, JSON.stringify(lineage), JSON.stringify(source)],
          ...[JSON.stringify(shape), JSON.stringify(bindings), variable, atMs, atMs],
        );
        const data = { name, ref: refOf(source), bindings };
        appendEvent(connection, { type: "secret.set", orgId, atMs, principalId, data });
        return toSecret(rowOf(orgId, name) as SecretRow);
      });
    },

    async rotateSecret({ orgId, name, source, principalId, atMs }) {
      return write(() => {
        const row = prepare(
          `UPDATE secrets SET source = ?, version = version + 1, rotated_at_ms = ?
           WHERE org_id = ? AND name = ? RETURNING *`,
        ).get(JSON.stringify(source), atMs, orgId, name) as unknown as SecretRow | undefined;
        if (!row) return undefined;
        const data = { name, version: row.version };
        appendEvent(connection, { type: "secret.rotated", orgId, atMs, principalId, data });
        return toSecret(row);
      });
    },

    async getSecret(orgId, name) {
      const row = rowOf(orgId, name);
      return row && toSecret(row);
    },

    async listSecrets(orgId) {
      const rows = prepare("SELECT * FROM secrets WHERE org_id = ? ORDER BY name").all(orgId);
      return (rows as unknown as SecretRow[]).map(toSecret);
    },

    async deleteSecret({ orgId, name, principalId, atMs }) {
      return write(() => {
        const gone = prepare("DELETE FROM secrets WHERE org_id = ? AND name = ? RETURNING id").get(
          orgId,
          name,
        );
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
