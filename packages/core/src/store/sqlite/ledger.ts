import { newRowId } from "@sandboxer/contract";
import type { Charge } from "../../ledger/meter.ts";
import type { LedgerEntry, Store } from "../store.ts";
import type { Connection } from "./open.ts";

/** An org's money is available until it is held, and held until it is captured or released. */
const ACCOUNTS: Readonly<Record<LedgerEntry["kind"], { debit: string; credit: string }>> = {
  hold: { debit: "held", credit: "available" },
  capture: { debit: "revenue", credit: "held" },
  release: { debit: "available", credit: "held" },
};

interface Posting {
  readonly orgId: string;
  readonly sandboxId: string;
  readonly atMs: number;
}

/** Within a write. Posting the same kind twice for a sandbox breaks a unique index, and the write. */
export function post(
  { prepare }: Connection,
  kind: LedgerEntry["kind"],
  amountMicroUsd: number,
  { orgId, sandboxId, atMs }: Posting,
): void {
  const { debit, credit } = ACCOUNTS[kind];
  prepare(
    `INSERT INTO ledger (id, org_id, sandbox_id, kind, debit, credit, amount_micro_usd, at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(newRowId("hld"), orgId, sandboxId, kind, debit, credit, amountMicroUsd, atMs);
}

export function postCharge(connection: Connection, charge: Charge, posting: Posting): void {
  post(connection, "capture", charge.captureMicroUsd, posting);
  post(connection, "release", charge.releaseMicroUsd, posting);
}

export function heldMicroUsd({ prepare }: Connection, sandboxId: string): number {
  const row = prepare(
    "SELECT amount_micro_usd AS held FROM ledger WHERE sandbox_id = ? AND kind = 'hold'",
  ).get(sandboxId) as { held: number };
  return row.held;
}

export function ledgerCommands({ prepare }: Connection): Pick<Store, "listLedger"> {
  return {
    async listLedger(orgId, sandboxId) {
      return prepare(
        `SELECT id, org_id AS orgId, sandbox_id AS sandboxId, kind, debit, credit,
                amount_micro_usd AS amountMicroUsd, at_ms AS atMs
         FROM ledger WHERE org_id = ? AND sandbox_id = ? ORDER BY seq`,
      ).all(orgId, sandboxId) as unknown as LedgerEntry[];
    },
  };
}
