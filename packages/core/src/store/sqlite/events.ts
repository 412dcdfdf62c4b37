import { type Event, newRowId } from "@sandboxer/contract";
import { canonicalJson, GENESIS_HASH, hashEvent } from "../../events/chain.ts";
import type { NewEvent, Store } from "../store.ts";
import type { Connection } from "./open.ts";
import { seenBy, VISIBLE } from "./visible.ts";

type EventCommands = Pick<Store, "appendEvents" | "listEvents" | "listBirth" | "listReached">;

interface EventRow {
  org_id: string;
  seq: number;
  id: string;
  at_ms: number;
  type: Event["type"];
  sandbox_id: string | null;
  principal_id: string | null;
  data: string;
  hash: string;
}

/** Within a write, so that no two events of an org draw the same `seq` or follow the same hash. */
export function appendEvent({ prepare }: Connection, event: NewEvent): void {
  const last = prepare("SELECT seq, hash FROM events WHERE org_id = ? ORDER BY seq DESC LIMIT 1").get(
    event.orgId,
  ) as Pick<EventRow, "seq" | "hash"> | undefined;
  const numbered = { ...event, data: { ...event.data }, id: newRowId("evt"), seq: (last?.seq ?? 0) + 1 };
  prepare(
    `INSERT INTO events (org_id, seq, id, at_ms, type, sandbox_id, principal_id, data, hash)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    event.orgId,
    numbered.seq,
    numbered.id,
    event.atMs,
    event.type,
    event.sandboxId ?? null,
    event.principalId ?? null,
    canonicalJson(numbered.data),
    hashEvent(last?.hash ?? GENESIS_HASH, numbered),
  );
}

export function eventCommands(connection: Connection): EventCommands {
  return {
    async appendEvents(events) {
      connection.append(() => {
        for (const event of events) appendEvent(connection, event);
      });
    },

    async listEvents(orgId, afterSeq, limit, viewer) {
      const rows = viewer
        ? connection
            .prepare(
              `SELECT * FROM events WHERE org_id = ? AND seq > ? AND (principal_id = ? OR EXISTS (
                 SELECT 1 FROM sandboxes WHERE sandboxes.id = events.sandbox_id AND ${VISIBLE}))
               ORDER BY seq LIMIT ?`,
            )
            .all(orgId, afterSeq, viewer.principalId, ...seenBy(viewer), limit)
        : connection
            .prepare("SELECT * FROM events WHERE org_id = ? AND seq > ? ORDER BY seq LIMIT ?")
            .all(orgId, afterSeq, limit);
      return (rows as unknown as EventRow[]).map(toEvent);
    },

    async listBirth(orgId, sandboxId) {
      const rows = connection
        .prepare(
          `SELECT * FROM events WHERE sandbox_id = ? AND org_id = ?
             AND type IN ('sandbox.requested', 'sandbox.created', 'sandbox.failed', 'sandbox.audited') ORDER BY seq`,
        )
        .all(sandboxId, orgId);
      return (rows as unknown as EventRow[]).map(toEvent);
    },

    async listReached(orgId, sandboxId) {
      const rows = connection
        .prepare(
          "SELECT * FROM events WHERE sandbox_id = ? AND org_id = ? AND type = 'network.reached' ORDER BY seq",
        )
        .all(sandboxId, orgId);
      return (rows as unknown as EventRow[]).map(toEvent);
    },
  };
}

function toEvent(row: EventRow): Event {
  return {
    id: row.id,
    orgId: row.org_id,
    seq: row.seq,
    atMs: row.at_ms,
    type: row.type,
    ...(row.sandbox_id !== null && { sandboxId: row.sandbox_id }),
    ...(row.principal_id !== null && { principalId: row.principal_id }),
    data: JSON.parse(row.data),
    hash: row.hash,
  };
}
