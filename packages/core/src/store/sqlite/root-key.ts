import type { EnrolRootKey, KeyStore } from "../key-store.ts";
import { appendEvent } from "./events.ts";
import { writeKey } from "./keys.ts";
import type { Connection } from "./open.ts";

export function rootKeyCommands(connection: Connection): Pick<KeyStore, "enrolRootKey"> {
  return {
    async enrolRootKey(enrol) {
      connection.write(() => enrolRootKey(connection, enrol));
    },
  };
}

/**
 * Within a write. The root key is one key whose secret may change: keys derived from it stay valid,
 * and what opened the installation before no longer does.
 */
function enrolRootKey(connection: Connection, enrol: EnrolRootKey): void {
  const { prepare } = connection;
  const { hash, atMs } = enrol;
  if (prepare("SELECT 1 FROM keys WHERE hash = ?").get(hash)) return;
  const meta = (key: string, value: string): string => {
    prepare("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING").run(key, value);
    return (prepare("SELECT value FROM meta WHERE key = ?").get(key) as { value: string }).value;
  };
  const orgId = meta("root-org", enrol.orgId);
  const principalId = meta("root-principal", enrol.principalId);
  const former = prepare(
    "SELECT id FROM keys WHERE org_id = ? AND parent_id IS NULL AND revoked_at_ms IS NULL ORDER BY rowid DESC",
  ).all(orgId) as unknown as { id: string }[];
  const [current, ...older] = former;
  for (const { id } of older) prepare("DELETE FROM keys WHERE id = ?").run(id);
  if (!current) {
    const principal = { id: principalId, kind: "user" } as const;
    writeKey(connection, { id: enrol.keyId, orgId, principal, rights: {}, hash, createdAtMs: atMs });
    return;
  }
  prepare("UPDATE keys SET hash = ? WHERE id = ?").run(hash, current.id);
  appendEvent(connection, { type: "key.replaced", orgId, atMs, data: { keyId: current.id } });
}
