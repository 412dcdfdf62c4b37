import { type Sandbox, SandboxerError, type SandboxState } from "@sandboxer/contract";
import type { Store, Viewer } from "../store.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";
import { seenBy, VISIBLE } from "./visible.ts";

type SandboxCommands = Pick<
  Store,
  | "getSandbox"
  | "getSandboxById"
  | "keyOfSandbox"
  | "touchSandbox"
  | "lastUse"
  | "listSandboxes"
  | "countSandboxes"
  | "lineageOf"
>;

export function sandboxCommands(connection: Connection): SandboxCommands {
  const { prepare, commitSoon } = connection;
  return {
    async getSandbox(orgId, idOrName, viewer) {
      const sql = `SELECT * FROM sandboxes WHERE id = ? AND org_id = ? AND ${VISIBLE}`;
      const seen = seenBy(viewer);
      return connection.remember(
        "sandboxes",
        JSON.stringify([orgId, idOrName, ...seen]),
        () => one(connection, sql, idOrName, orgId, ...seen) ?? named(connection, orgId, idOrName, viewer),
      );
    },

    async getSandboxById(sandboxId) {
      return one(connection, "SELECT * FROM sandboxes WHERE id = ?", sandboxId);
    },

    async keyOfSandbox(sandboxId) {
      const row = prepare("SELECT key_id AS keyId FROM sandboxes WHERE id = ?").get(sandboxId);
      return (row as { keyId: string | null } | undefined)?.keyId ?? undefined;
    },

    async countSandboxes(orgId) {
      const counts = "SELECT state, count(*) AS count FROM sandboxes WHERE org_id = ? GROUP BY state";
      const rows = prepare(counts).all(orgId) as { state: SandboxState; count: number }[];
      return new Map(rows.map(({ state, count }) => [state, count]));
    },

    async touchSandbox(sandboxId, atMs) {
      commitSoon(() =>
        prepare("UPDATE sandboxes SET used_at_ms = max(coalesce(used_at_ms, 0), ?) WHERE id = ?").run(
          atMs,
          sandboxId,
        ),
      );
    },

    async lastUse(sandboxId) {
      const row = prepare("SELECT used_at_ms AS atMs FROM sandboxes WHERE id = ?").get(sandboxId);
      return (row as { atMs: number | null } | undefined)?.atMs ?? undefined;
    },

    async listSandboxes({ orgId, viewer, states, name, limit, after }) {
      let before = Number.MAX_SAFE_INTEGER;
      if (after !== undefined) {
        const where = `id = ? AND org_id = ? AND ${VISIBLE}`;
        const last = prepare(`SELECT seq FROM sandboxes WHERE ${where}`).get(after, orgId, ...seenBy(viewer));
        if (!last) throw new SandboxerError("invalid_request", "after: no such sandbox");
        before = (last as { seq: number }).seq;
      }
      const wanted = [
        ...(states ? [["state IN (SELECT value FROM json_each(?))", JSON.stringify(states)] as const] : []),
        ...(name === undefined ? [] : [["name = ?", name] as const]),
      ];
      const conditions = wanted.map(([condition]) => ` AND ${condition}`).join("");
      const rows = prepare(
        `SELECT * FROM sandboxes WHERE org_id = ? AND seq < ? AND ${VISIBLE}${conditions} ORDER BY seq DESC LIMIT ?`,
      ).all(orgId, before, ...seenBy(viewer), ...wanted.map(([, value]) => value), limit);
      return (rows as unknown as SandboxRow[]).map(toSandbox);
    },

    async lineageOf(sandboxId) {
      const row = prepare("SELECT lineage FROM sandboxes WHERE id = ?").get(sandboxId);
      return (row as { lineage: string | null } | undefined)?.lineage?.split("/").filter(Boolean) ?? [];
    },
  };
}

function one({ prepare }: Connection, sql: string, ...values: string[]): Sandbox | undefined {
  const row = prepare(sql).get(...values) as unknown as SandboxRow | undefined;
  return row && toSandbox(row);
}

/** One's own goes before another's of the same name; between two of others only an id can choose. */
function named({ prepare }: Connection, orgId: string, name: string, viewer: Viewer | undefined) {
  const found = prepare(
    `SELECT * FROM sandboxes WHERE org_id = ? AND name = ? AND ended_at_ms IS NULL AND ${VISIBLE} LIMIT 200`,
  ).all(orgId, name, ...seenBy(viewer)) as unknown as SandboxRow[];
  const own = found.find((row) => row.principal_id === viewer?.principalId);
  if (!own && found.length > 1) {
    throw new SandboxerError("conflict", `${found.length} sandboxes are named ${name}`, {
      hint: "Use the id of the one you mean.",
    });
  }
  const row = own ?? found[0];
  return row && toSandbox(row);
}
