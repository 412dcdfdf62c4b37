import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Event } from "@sandboxer/contract";
import { firstBrokenSeq } from "@sandboxer/core";

export interface Row {
  readonly id: string;
  readonly state: string;
  readonly ended: number | null;
  readonly reason: string | null;
}

interface Entry {
  readonly sandbox: string;
  readonly debit: string;
  readonly credit: string;
  readonly amount: number;
}

/** Reads the store's file itself: what is checked is what is on the disk. */
function ask<T>(home: string, sql: string): T[] {
  const path = join(home, "state.db");
  if (!existsSync(path)) return [];
  const db = new DatabaseSync(path, { timeout: 30_000 });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}

export const rowsOf = (home: string): Row[] =>
  ask(home, "SELECT id, state, ended_at_ms AS ended, reason FROM sandboxes ORDER BY seq");

const OPEN = `SELECT sandbox_id AS id FROM ledger WHERE sandbox_id IS NOT NULL GROUP BY sandbox_id
  HAVING sum(kind = 'hold') = 0 OR sum(kind = 'capture') = 0 OR sum(kind = 'release') = 0`;

const CHARGED_TWICE = `SELECT DISTINCT a.sandbox_id AS id FROM ledger a JOIN ledger b
  ON a.sandbox_id = b.sandbox_id AND a.seq < b.seq AND a.from_ms < b.to_ms AND b.from_ms < a.to_ms`;

/** Money that is still held for what is over or never was, and a log that was tampered with. */
export function troubleInTheBooks(home: string): { money: string[]; events: string[] } {
  const held = new Map<string, number>();
  const sql = "SELECT sandbox_id AS sandbox, debit, credit, amount_micro_usd AS amount FROM ledger";
  for (const { sandbox, debit, credit, amount } of ask<Entry>(home, sql)) {
    const change = (debit === "held" ? amount : 0) - (credit === "held" ? amount : 0);
    held.set(sandbox, (held.get(sandbox) ?? 0) + change);
  }
  const named = (what: string, ids: { id: string }[]) => ids.map(({ id }) => `${id} ${what}`);
  const money = [
    ...[...held].filter(([, amount]) => amount !== 0).map(([id, amount]) => `${id} holds ${amount}`),
    // A hold of nothing is not money, but it must be closed all the same.
    ...named("is not closed", ask(home, OPEN)),
    ...named("was charged twice for a time", ask(home, CHARGED_TWICE)),
    ...named("still holds", ask(home, "SELECT id FROM accounts WHERE held_micro_usd != 0")),
  ];
  const orgs = [...new Set(eventsOf(home).map(({ orgId }) => orgId))];
  const events = orgs.flatMap((org) => {
    const broken = firstBrokenSeq(eventsOf(home).filter(({ orgId }) => orgId === org));
    return broken === undefined ? [] : [`${org} is broken at ${broken}`];
  });
  return { money, events };
}

export function eventsOf(home: string): Event[] {
  const rows = ask<Record<string, string | number | null>>(
    home,
    `SELECT org_id AS orgId, seq, id, at_ms AS atMs, type, sandbox_id AS sandboxId,
       principal_id AS principalId, data, hash FROM events ORDER BY org_id, seq`,
  );
  return rows.map((row) => {
    const present = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
    return { ...present, data: JSON.parse(String(row.data)) } as unknown as Event;
  });
}
