import { type Budget, dollars, SandboxerError } from "@sandboxer/contract";
import type { Connection } from "./open.ts";

export interface AccountRow {
  id: string;
  org_id: string;
  parent_id: string | null;
  limit_micro_usd: number | null;
  available_micro_usd: number;
  held_micro_usd: number;
  spent_micro_usd: number;
}

/** Within a write: the account of the key, of the nearest key above it that has one, or of the org. */
export function accountOf({ prepare }: Connection, orgId: string, keyId: string | undefined): AccountRow {
  const nearest =
    keyId !== undefined &&
    prepare(
      `WITH RECURSIVE link (id, parent_id, depth) AS (
         SELECT id, parent_id, 0 FROM keys WHERE id = ?
         UNION ALL
         SELECT keys.id, keys.parent_id, depth + 1 FROM keys JOIN link ON keys.id = link.parent_id
       ) SELECT accounts.* FROM link JOIN accounts ON accounts.id = link.id ORDER BY depth LIMIT 1`,
    ).get(keyId);
  if (nearest) return nearest as unknown as AccountRow;
  prepare("INSERT INTO accounts (id, org_id) VALUES (?, ?) ON CONFLICT DO NOTHING").run(orgId, orgId);
  return prepare("SELECT * FROM accounts WHERE id = ?").get(orgId) as unknown as AccountRow;
}

/** Refuses before anything is written, so that nothing is half-done. */
export function refuseBeyond(account: AccountRow, neededMicroUsd: number): void {
  if (account.limit_micro_usd === null || account.available_micro_usd >= neededMicroUsd) return;
  const { id: accountId, available_micro_usd: availableMicroUsd } = account;
  throw new SandboxerError(
    "budget_exceeded",
    `it needs ${dollars(neededMicroUsd)}; the budget of ${accountId} has ${dollars(availableMicroUsd)} left`,
    { details: { accountId, neededMicroUsd, availableMicroUsd } },
  );
}

export function toBudget(row: AccountRow): Budget {
  return {
    accountId: row.id,
    ...(row.limit_micro_usd !== null && {
      limitMicroUsd: row.limit_micro_usd,
      availableMicroUsd: row.available_micro_usd,
    }),
    heldMicroUsd: row.held_micro_usd,
    spentMicroUsd: row.spent_micro_usd,
  };
}
