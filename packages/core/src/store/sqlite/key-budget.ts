import { type Budget, dollars, SandboxerError } from "@sandboxer/contract";
import type { SetKeyBudget } from "../budget-store.ts";
import { type AccountRow, toBudget } from "./accounts.ts";
import { appendEvent } from "./events.ts";
import { allot } from "./ledger.ts";
import type { Connection } from "./open.ts";

/** Within a write: the difference moves between the key's account and the one it was allotted from. */
export function moveLimit(
  connection: Connection,
  { orgId, keyId, limitMicroUsd, atMs, principalId }: SetKeyBudget,
): Budget | undefined {
  const { prepare } = connection;
  const find = (id: string) =>
    prepare("SELECT * FROM accounts WHERE id = ?").get(id) as unknown as AccountRow;
  const setLimit = () =>
    prepare("UPDATE accounts SET limit_micro_usd = ? WHERE id = ?").run(limitMicroUsd, keyId);
  const own = find(keyId);
  if (own?.parent_id == null) return undefined;
  const moreMicroUsd = limitMicroUsd - (own.limit_micro_usd ?? 0);
  if (moreMicroUsd >= 0) {
    setLimit();
    allot(connection, find(own.parent_id), keyId, moreMicroUsd, atMs);
  } else {
    refuseBound(own, limitMicroUsd);
    allot(connection, own, own.parent_id, -moreMicroUsd, atMs);
    setLimit();
  }
  prepare("UPDATE keys SET rights = json_set(rights, '$.budgetMicroUsd', ?) WHERE id = ?").run(
    limitMicroUsd,
    keyId,
  );
  const data = { keyId, limitMicroUsd };
  appendEvent(connection, { type: "budget.changed", orgId, atMs, principalId, data });
  return toBudget(find(keyId));
}

/** What living sandboxes and derived keys hold, and what is spent, cannot be taken back. */
function refuseBound({ limit_micro_usd, available_micro_usd }: AccountRow, limitMicroUsd: number): void {
  const boundMicroUsd = (limit_micro_usd ?? 0) - available_micro_usd;
  if (limitMicroUsd >= boundMicroUsd) return;
  throw new SandboxerError("budget_exceeded", `${dollars(boundMicroUsd)} is already bound or spent`, {
    details: { boundMicroUsd },
  });
}
