import { type Key, type Rights, SandboxerError } from "@sandboxer/contract";
import type { FoundKey, KeyStore, NewKey, RevokeKey } from "../key-store.ts";
import type { Store } from "../store.ts";
import { accountOf } from "./accounts.ts";
import { appendEvent } from "./events.ts";
import { markForsaken } from "./forsaking.ts";
import { claimOnce } from "./idempotency.ts";
import { allot, returnFromEnded } from "./ledger.ts";
import type { Connection } from "./open.ts";

type KeyCommands = Omit<KeyStore, "enrolRootKey"> & Pick<Store, "claimMeta" | "endExpiredKeys">;

interface KeyRow {
  id: string;
  org_id: string;
  parent_id: string | null;
  principal_id: string;
  name: string | null;
  role: Key["role"] | null;
  rights: string;
  kind: Key["principal"]["kind"];
  team: string | null;
  created_at_ms: number;
  expires_at_ms: number | null;
  revoked_at_ms: number | null;
  identity: string | null;
  proven_until_ms: number | null;
}

/** The key with this hash or id, and every key above it; the root last. */
const UPWARDS = (column: "hash" | "id") => `
  WITH RECURSIVE link (id, org_id, parent_id, principal_id, rights, expires_at_ms, revoked_at_ms,
    proven_until_ms, depth) AS (
    SELECT id, org_id, parent_id, principal_id, rights, expires_at_ms, revoked_at_ms, proven_until_ms, 0
    FROM keys WHERE ${column} = ?
    UNION ALL
    SELECT keys.id, keys.org_id, keys.parent_id, keys.principal_id, keys.rights, keys.expires_at_ms,
           keys.revoked_at_ms, keys.proven_until_ms, depth + 1
    FROM keys JOIN link ON keys.id = link.parent_id)`;
const DOWNWARDS = `
  WITH RECURSIVE below (id) AS (
    SELECT id FROM keys WHERE org_id = ? AND id = ?
    UNION ALL
    SELECT keys.id FROM keys JOIN below ON keys.parent_id = below.id)`;
const HOLDERS = "keys JOIN principals ON principals.id = keys.principal_id";

export function keyCommands(connection: Connection): KeyCommands {
  const { prepare, write } = connection;
  return {
    async claimMeta(key, value) {
      return write(() => {
        prepare("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING").run(key, value);
        const row = prepare("SELECT value FROM meta WHERE key = ?").get(key);
        return (row as { value: string }).value;
      });
    },

    async insertKey(key, claim) {
      return write(() => {
        claimOnce(connection, claim, { ...(claim && { answer: claim.answer }) });
        return writeKey(connection, key);
      });
    },

    async findKey(hash) {
      return connection.remember("keys", hash, () => toFound(chainOf(connection, "hash", hash)));
    },

    async findKeyById(keyId) {
      return connection.remember("keys", `id ${keyId}`, () => toFound(chainOf(connection, "id", keyId)));
    },

    async findPrincipal(principalId) {
      const row = prepare("SELECT id FROM keys WHERE principal_id = ? ORDER BY rowid LIMIT 1").get(
        principalId,
      );
      return row && toFound(chainOf(connection, "id", (row as { id: string }).id))?.principal;
    },

    async listKeys(orgId, keyId) {
      const rows = prepare(
        `${DOWNWARDS} SELECT keys.*, kind, team FROM ${HOLDERS} WHERE keys.id IN below ORDER BY keys.rowid`,
      ).all(orgId, keyId);
      return (rows as unknown as KeyRow[]).map(toKey);
    },

    async revokeKey(revoke) {
      return write(() => endKeys(connection, revoke));
    },

    async endExpiredKeys(nowMs) {
      const due = "SELECT id, org_id FROM keys WHERE expires_at_ms <= ? AND revoked_at_ms IS NULL";
      const rows = prepare(due).all(nowMs) as unknown as KeyRow[];
      if (rows.length === 0) return [];
      return write(() =>
        rows.flatMap(({ id: keyId, org_id: orgId }) =>
          endKeys(connection, { orgId, keyId, atMs: nowMs, reason: "its time was up" }),
        ),
      );
    },

    async proveIdentity({ orgId, keyId, principalId, untilMs, atMs }) {
      write(() => {
        prepare("UPDATE keys SET proven_until_ms = ? WHERE org_id = ? AND id = ?").run(untilMs, orgId, keyId);
        const data = { keyId, untilMs };
        appendEvent(connection, { type: "identity.proven", orgId, atMs, principalId, data });
      });
    },

    async listEndedKeys(keyIds, nowMs) {
      const ended = prepare(
        `${UPWARDS("id")} SELECT 1 FROM link WHERE revoked_at_ms IS NOT NULL OR expires_at_ms <= ? LIMIT 1`,
      );
      return keyIds.filter((id) => ended.get(id, nowMs) !== undefined);
    },
  };
}

/** From the root down to the key. */
function chainOf({ prepare }: Connection, column: "hash" | "id", value: string): KeyRow[] {
  const chain = `${UPWARDS(column)} SELECT link.*, kind, team FROM link
    JOIN principals ON principals.id = principal_id ORDER BY depth DESC`;
  return prepare(chain).all(value) as unknown as KeyRow[];
}

/** Within a write. */
export function writeKey(connection: Connection, key: NewKey): Key {
  const { prepare } = connection;
  const { id, orgId, parentId, principal, name, role, rights, hash, createdAtMs, expiresAtMs } = key;
  const { identity } = key;
  refuseEndedParent(connection, parentId, createdAtMs);
  prepare(
    `INSERT INTO principals (id, org_id, kind, team, created_at_ms) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  ).run(principal.id, orgId, principal.kind, principal.team ?? null, createdAtMs);
  prepare(
    `INSERT INTO keys (id, org_id, principal_id, parent_id, name, role, rights, hash, created_at_ms,
       expires_at_ms, identity) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    id,
    orgId,
    principal.id,
    parentId ?? null,
    name ?? null,
    role ?? null,
    JSON.stringify(rights),
    hash,
    createdAtMs,
    expiresAtMs ?? null,
    identity ?? null,
  );
  if (rights.budgetMicroUsd !== undefined) openBudget(connection, key, rights.budgetMicroUsd);
  const { byPrincipalId, hash: _, ...written } = key;
  if (byPrincipalId !== undefined) {
    const data = { key: written };
    appendEvent(connection, {
      type: "key.created",
      orgId,
      atMs: createdAtMs,
      principalId: byPrincipalId,
      data,
    });
  }
  return written;
}

/** A child's budget is held on its parent's from the start, so that no two can spend the same. */
function openBudget(
  connection: Connection,
  { id, orgId, parentId, createdAtMs }: NewKey,
  limit: number,
): void {
  const from = accountOf(connection, orgId, parentId);
  connection
    .prepare("INSERT INTO accounts (id, org_id, parent_id, limit_micro_usd) VALUES (?, ?, ?, ?)")
    .run(id, orgId, from.id, limit);
  allot(connection, from, id, limit, createdAtMs);
}

/** Within a write: ends the key and all below it; the youngest give back what is theirs first. */
function endKeys(connection: Connection, { orgId, keyId, atMs, principalId, reason }: RevokeKey): string[] {
  const { prepare } = connection;
  const rows = prepare(
    `${DOWNWARDS} UPDATE keys SET revoked_at_ms = ? WHERE id IN below AND revoked_at_ms IS NULL
     RETURNING id, rowid`,
  ).all(orgId, keyId, atMs) as unknown as { id: string; rowid: number }[];
  const revoked = rows.sort((a, b) => a.rowid - b.rowid).map(({ id }) => id);
  for (const id of revoked.toReversed()) {
    if (prepare("SELECT 1 FROM accounts WHERE id = ?").get(id)) returnFromEnded(connection, id, atMs);
  }
  leaveSandboxes(connection, revoked, atMs);
  if (revoked.length > 0) {
    const data = { keyId, revoked, reason };
    appendEvent(connection, { type: "key.revoked", orgId, atMs, principalId, data });
  }
  return revoked;
}

/** Within a write: who holds an ended key is attached to nothing any more. */
function leaveSandboxes(connection: Connection, keyIds: readonly string[], atMs: number): void {
  const left = connection
    .prepare(
      `UPDATE attachments SET detached_at_ms = ? WHERE implicit = 0 AND detached_at_ms IS NULL AND principal_id IN
         (SELECT principal_id FROM keys WHERE id IN (SELECT value FROM json_each(?))) RETURNING sandbox_id AS id`,
    )
    .all(atMs, JSON.stringify(keyIds)) as unknown as { id: string }[];
  if (left.length > 0) {
    markForsaken(
      connection,
      left.map(({ id }) => id),
    );
  }
}

function refuseEndedParent({ prepare }: Connection, parentId: string | undefined, atMs: number): void {
  if (parentId === undefined) return;
  const ended = prepare(
    `${UPWARDS("id")} SELECT id FROM link WHERE revoked_at_ms IS NOT NULL OR expires_at_ms <= ? LIMIT 1`,
  ).get(parentId, atMs);
  if (ended) throw new SandboxerError("unauthenticated", "the key it would derive from is over");
}

function toFound(links: readonly KeyRow[]): FoundKey | undefined {
  const used = links.at(-1);
  if (!used) return undefined;
  const ends = links.flatMap(({ expires_at_ms }) => expires_at_ms ?? []);
  return {
    principal: {
      id: used.principal_id,
      orgId: used.org_id,
      keyId: used.id,
      kind: used.kind,
      chain: links.map(({ rights }) => JSON.parse(rights) as Rights),
      lineage: links.map(({ principal_id }) => principal_id),
      standing: links.map(({ kind, proven_until_ms }) => ({
        kind,
        ...(proven_until_ms !== null && { provenUntilMs: proven_until_ms }),
      })),
      ...(used.team !== null && { team: used.team }),
      ...(ends.length > 0 && { expiresAtMs: Math.min(...ends) }),
    },
    ...(used.parent_id !== null && { parentId: used.parent_id }),
    revoked: links.some(({ revoked_at_ms }) => revoked_at_ms !== null),
  };
}

function toKey(row: KeyRow): Key {
  return {
    id: row.id,
    orgId: row.org_id,
    ...(row.parent_id !== null && { parentId: row.parent_id }),
    ...(row.name !== null && { name: row.name }),
    ...(row.role !== null && { role: row.role }),
    rights: JSON.parse(row.rights),
    principal: { id: row.principal_id, kind: row.kind, ...(row.team !== null && { team: row.team }) },
    ...(row.identity !== null && { identity: row.identity }),
    ...(row.proven_until_ms !== null && { provenUntilMs: row.proven_until_ms }),
    createdAtMs: row.created_at_ms,
    ...(row.expires_at_ms !== null && { expiresAtMs: row.expires_at_ms }),
    ...(row.revoked_at_ms !== null && { revokedAtMs: row.revoked_at_ms }),
  };
}
