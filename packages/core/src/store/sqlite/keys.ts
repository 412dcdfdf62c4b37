import type { Rights } from "@sandboxer/contract";
import type { Store } from "../store.ts";
import type { Connection } from "./open.ts";

interface LinkRow {
  id: string;
  org_id: string;
  principal_id: string;
  rights: string;
}

type KeyCommands = Pick<Store, "claimMeta" | "insertKey" | "findPrincipalByKeyHash">;

export function keyCommands({ prepare, write }: Connection): KeyCommands {
  return {
    async claimMeta(key, value) {
      return write(() => {
        prepare("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING").run(key, value);
        const row = prepare("SELECT value FROM meta WHERE key = ?").get(key);
        return (row as { value: string }).value;
      });
    },

    async insertKey(key) {
      write(() =>
        prepare(
          `INSERT INTO keys (id, org_id, principal_id, parent_id, rights, hash, created_at_ms)
           VALUES (?, ?, ?, ?, ?, ?, ?)`,
        ).run(
          key.id,
          key.orgId,
          key.principalId,
          key.parentId ?? null,
          JSON.stringify(key.rights),
          key.hash,
          key.createdAtMs,
        ),
      );
    },

    async findPrincipalByKeyHash(hash) {
      const links = prepare(
        `WITH RECURSIVE link (id, org_id, principal_id, parent_id, rights, depth) AS (
           SELECT id, org_id, principal_id, parent_id, rights, 0 FROM keys WHERE hash = ?
           UNION ALL
           SELECT keys.id, keys.org_id, keys.principal_id, keys.parent_id, keys.rights, depth + 1
           FROM keys JOIN link ON keys.id = link.parent_id
         ) SELECT id, org_id, principal_id, rights FROM link ORDER BY depth DESC`,
      ).all(hash) as unknown as LinkRow[];
      const used = links.at(-1);
      if (!used) return undefined;
      return {
        id: used.principal_id,
        orgId: used.org_id,
        keyId: used.id,
        chain: links.map(({ rights }) => JSON.parse(rights) as Rights),
      };
    },
  };
}
