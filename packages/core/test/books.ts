import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import type { LedgerEntry } from "../src/store/store.ts";

interface AccountRow {
  id: string;
  limit_micro_usd: number | null;
  available_micro_usd: number;
  held_micro_usd: number;
  spent_micro_usd: number;
}

/** The three promises of the books: they sum to zero, replay gives the balances, no budget is overdrawn. */
export function auditBooks(path: string): void {
  const db = new DatabaseSync(path, { readOnly: true });
  const accounts = db.prepare("SELECT * FROM accounts").all() as unknown as AccountRow[];
  const entries = db
    .prepare(
      `SELECT sandbox_id AS sandboxId, kind, debit, debit_account_id AS debitAccountId, credit,
        credit_account_id AS creditAccountId, amount_micro_usd AS amountMicroUsd, from_ms AS fromMs, to_ms AS toMs
       FROM ledger ORDER BY seq`,
    )
    .all() as unknown as LedgerEntry[];
  const holds = db.prepare("SELECT id, held_micro_usd AS held FROM sandboxes").all() as unknown as {
    id: string;
    held: number;
  }[];
  db.close();

  const balances = new Map<string, number>();
  const add = (side: string, amount: number) => balances.set(side, (balances.get(side) ?? 0) + amount);
  for (const entry of entries) {
    expect(entry.amountMicroUsd).toBeGreaterThanOrEqual(0);
    add(`${entry.debitAccountId} ${entry.debit}`, entry.amountMicroUsd);
    add(`${entry.creditAccountId} ${entry.credit}`, -entry.amountMicroUsd);
    if (entry.sandboxId && entry.debit === "held") add(entry.sandboxId, entry.amountMicroUsd);
    if (entry.sandboxId && entry.credit === "held") add(entry.sandboxId, -entry.amountMicroUsd);
  }
  const sides = [...balances].filter(([side]) => side.includes(" "));
  expect(
    sides.reduce((sum, [, amount]) => sum + amount, 0),
    "the books sum to zero",
  ).toBe(0);
  for (const { id, held } of holds) expect(balances.get(id) ?? 0, `what ${id} holds`).toBe(held);
  for (const account of accounts) {
    const { id, limit_micro_usd, available_micro_usd, held_micro_usd, spent_micro_usd } = account;
    expect(balances.get(`${id} available`) ?? 0, "replay").toBe(available_micro_usd);
    expect(balances.get(`${id} held`) ?? 0, "replay").toBe(held_micro_usd);
    expect(balances.get(`${id} revenue`) ?? 0, "replay").toBe(spent_micro_usd);
    if (limit_micro_usd === null) continue;
    expect(available_micro_usd, "never over budget").toBeGreaterThanOrEqual(0);
    expect(held_micro_usd + spent_micro_usd).toBeLessThanOrEqual(limit_micro_usd);
  }
  checkIntervals(entries);
}

function checkIntervals(entries: readonly LedgerEntry[]): void {
  const chargedUntil = new Map<string, number>();
  for (const { sandboxId, fromMs, toMs } of entries) {
    if (!sandboxId || fromMs === null || toMs === null) continue;
    expect(fromMs, "no time is charged twice").toBeGreaterThanOrEqual(chargedUntil.get(sandboxId) ?? fromMs);
    chargedUntil.set(sandboxId, toMs);
  }
}
