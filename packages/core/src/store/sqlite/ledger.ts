import { newRowId } from "@sandboxer/contract";
import type { LedgerEntry, Store } from "../store.ts";
import { type AccountRow, refuseBeyond } from "./accounts.ts";
import type { Connection } from "./open.ts";

/** An account's money is available until it is held, and held until it is captured or released. */
const SIDES = {
  hold: { debit: "held", credit: "available" },
  capture: { debit: "revenue", credit: "held" },
  release: { debit: "available", credit: "held" },
} as const;

export interface Posting {
  readonly orgId: string;
  readonly accountId: string;
  readonly sandboxId: string;
  readonly atMs: number;
  /** The stretch of time that a capture charges. */
  readonly interval?: { readonly fromMs: number; readonly toMs: number } | undefined;
}

/** Within a write. Money of one account changes sides; its balances and the sandbox's hold follow. */
export function post(
  connection: Connection,
  kind: keyof typeof SIDES,
  amountMicroUsd: number,
  posting: Posting,
): void {
  const { prepare } = connection;
  const { accountId, sandboxId } = posting;
  const account = findAccount(connection, accountId);
  if (kind === "hold") refuseBeyond(account, amountMicroUsd);
  append(connection, { ...posting, kind, ...SIDES[kind], to: accountId, from: accountId, amountMicroUsd });
  const [available, held, spent] = { hold: [-1, 1, 0], capture: [0, -1, 1], release: [1, -1, 0] }[kind] as [
    number,
    number,
    number,
  ];
  prepare(
    `UPDATE accounts SET available_micro_usd = available_micro_usd + ?, held_micro_usd = held_micro_usd + ?,
       spent_micro_usd = spent_micro_usd + ? WHERE id = ?`,
  ).run(available * amountMicroUsd, held * amountMicroUsd, spent * amountMicroUsd, accountId);
  prepare("UPDATE sandboxes SET held_micro_usd = held_micro_usd + ? WHERE id = ?").run(
    held * amountMicroUsd,
    sandboxId,
  );
  if (kind === "release") returnFromEnded(connection, accountId, posting.atMs);
}

/** Within a write: part of one account's budget becomes another's. */
export function allot(
  connection: Connection,
  from: AccountRow,
  toId: string,
  amountMicroUsd: number,
  atMs: number,
): void {
  refuseBeyond(from, amountMicroUsd);
  const sides = { debit: "available", credit: "available" } as const;
  append(connection, {
    kind: "allot",
    ...sides,
    orgId: from.org_id,
    to: toId,
    from: from.id,
    amountMicroUsd,
    atMs,
  });
  const move = connection.prepare(
    "UPDATE accounts SET available_micro_usd = available_micro_usd + ? WHERE id = ?",
  );
  move.run(-amountMicroUsd, from.id);
  move.run(amountMicroUsd, toId);
}

/** Within a write: the org's limit moves by so much, up or down. */
export function fund(connection: Connection, account: AccountRow, byMicroUsd: number, atMs: number): void {
  const { id, org_id: orgId } = account;
  const sides =
    byMicroUsd < 0
      ? { debit: "world", credit: "available" }
      : ({ debit: "available", credit: "world" } as const);
  const amountMicroUsd = Math.abs(byMicroUsd);
  append(connection, { kind: "fund", ...sides, orgId, to: id, from: id, amountMicroUsd, atMs });
  connection
    .prepare("UPDATE accounts SET available_micro_usd = available_micro_usd + ? WHERE id = ?")
    .run(byMicroUsd, id);
}

/** Within a write: what the budget of an ended key did not spend goes back to where it came from. */
export function returnFromEnded(connection: Connection, accountId: string, atMs: number): void {
  const { prepare } = connection;
  const account = findAccount(connection, accountId);
  const over = prepare("SELECT 1 FROM keys WHERE id = ? AND revoked_at_ms IS NOT NULL").get(accountId);
  if (!over || account.parent_id === null) return;
  const left = account.available_micro_usd;
  if (left > 0) {
    // The limit goes down last: between the two the account would be over it.
    allot(connection, account, account.parent_id, left, atMs);
    prepare("UPDATE accounts SET limit_micro_usd = limit_micro_usd - ? WHERE id = ?").run(left, accountId);
  }
  returnFromEnded(connection, account.parent_id, atMs);
}

function findAccount({ prepare }: Connection, accountId: string): AccountRow {
  return prepare("SELECT * FROM accounts WHERE id = ?").get(accountId) as unknown as AccountRow;
}

interface Entry extends Partial<Posting> {
  readonly kind: LedgerEntry["kind"];
  readonly debit: string;
  readonly credit: string;
  readonly orgId: string;
  readonly to: string;
  readonly from: string;
  readonly amountMicroUsd: number;
  readonly atMs: number;
}

function append({ prepare }: Connection, entry: Entry): void {
  const { orgId, sandboxId = null, kind, debit, credit, to, from, amountMicroUsd, interval, atMs } = entry;
  prepare(
    `INSERT INTO ledger (id, org_id, sandbox_id, kind, debit, debit_account_id, credit, credit_account_id,
       amount_micro_usd, from_ms, to_ms, at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    newRowId("hld"),
    orgId,
    sandboxId,
    kind,
    debit,
    to,
    credit,
    from,
    amountMicroUsd,
    interval?.fromMs ?? null,
    interval?.toMs ?? null,
    atMs,
  );
}

export function ledgerCommands({ prepare }: Connection): Pick<Store, "listLedger"> {
  const columns = `id, org_id AS orgId, sandbox_id AS sandboxId, kind, debit, debit_account_id AS debitAccountId,
    credit, credit_account_id AS creditAccountId, amount_micro_usd AS amountMicroUsd, from_ms AS fromMs,
    to_ms AS toMs, at_ms AS atMs`;
  return {
    async listLedger(orgId, sandboxId) {
      const entries =
        sandboxId === undefined
          ? prepare(`SELECT ${columns} FROM ledger WHERE org_id = ? ORDER BY seq`).all(orgId)
          : prepare(`SELECT ${columns} FROM ledger WHERE sandbox_id = ? AND org_id = ? ORDER BY seq`).all(
              sandboxId,
              orgId,
            );
      return entries as unknown as LedgerEntry[];
    },
  };
}
