import { dollars, SandboxerError } from "@sandboxer/contract";
import type { BudgetStore, Covered, CoverSandbox, Uncovered } from "../budget-store.ts";
import { type AccountRow, accountOf, toBudget } from "./accounts.ts";
import { appendEvent } from "./events.ts";
import { moveLimit } from "./key-budget.ts";
import { fund } from "./ledger.ts";
import { charge, holdUntil } from "./metering.ts";
import type { Connection } from "./open.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

type BudgetCommands = Omit<BudgetStore, "endExpiredKeys">;

export function budgetCommands(connection: Connection): BudgetCommands {
  const { prepare, write } = connection;
  const living = (sandboxId: string) =>
    prepare("SELECT * FROM sandboxes WHERE id = ? AND state IN ('running', 'paused')").get(
      sandboxId,
    ) as unknown as SandboxRow | undefined;

  return {
    async getBudget(orgId, keyId) {
      return write(() => toBudget(accountOf(connection, orgId, keyId)));
    },

    async setOrgBudget(set) {
      return write(() => setLimit(connection, set.orgId, set.limitMicroUsd, set));
    },

    async setKeyBudget(set) {
      return write(() => moveLimit(connection, set));
    },

    async coverSandbox(asked) {
      return write(() => cover(connection, living(asked.sandboxId), asked));
    },

    async coverSandboxes(asked) {
      return write(() => asked.map((one) => cover(connection, living(one.sandboxId), one)));
    },

    async moveExpiry({ sandboxId, expiresAtMs, atMs, principalId }) {
      return write(() => {
        const row = prepare(
          "UPDATE sandboxes SET expires_at_ms = ? WHERE id = ? AND state IN ('running', 'paused') RETURNING *",
        ).get(expiresAtMs, sandboxId) as unknown as SandboxRow | undefined;
        if (!row) return undefined;
        const { org_id: orgId } = row;
        appendEvent(connection, {
          type: "sandbox.extended",
          orgId,
          atMs,
          sandboxId,
          principalId,
          data: { expiresAtMs },
        });
        return toSandbox(row);
      });
    },

    async listUncovered(untilMs) {
      return prepare(
        `SELECT id AS sandboxId, covered_until_ms AS coveredUntilMs, expires_at_ms AS expiresAtMs FROM sandboxes
         WHERE ended_at_ms IS NULL AND covered_until_ms < expires_at_ms AND covered_until_ms <= ?
           AND running_micro_usd_per_hour > 0 AND state IN ('running', 'paused')`,
      ).all(untilMs) as unknown as Uncovered[];
    },
  };
}

/** Within a write. */
function cover(
  connection: Connection,
  row: SandboxRow | undefined,
  { sandboxId, atMs, untilMs, announce }: CoverSandbox,
): Covered | undefined {
  if (!row) return undefined;
  const charged = charge(connection, row, atMs);
  try {
    const covered = holdUntil(connection, charged, untilMs, atMs);
    return { coveredUntilMs: covered.covered_until_ms ?? untilMs };
  } catch (error) {
    if (!SandboxerError.is(error) || error.code !== "budget_exceeded") throw error;
    const { message: reason, details } = error;
    if (announce) {
      const data = { reason, ...details, coveredUntilMs: row.covered_until_ms };
      appendEvent(connection, { type: "budget.exhausted", orgId: row.org_id, atMs, sandboxId, data });
    }
    return { coveredUntilMs: row.covered_until_ms ?? atMs, refused: reason };
  }
}

/** Within a write. */
export function setLimit(
  connection: Connection,
  orgId: string,
  limitMicroUsd: number | null,
  { atMs, principalId }: { readonly atMs: number; readonly principalId: string },
) {
  const { prepare } = connection;
  const account = accountOf(connection, orgId, undefined);
  // Without a limit what is bound and spent counts below zero, so that a limit can be set at any time.
  const byMicroUsd = (limitMicroUsd ?? 0) - (account.limit_micro_usd ?? 0);
  const availableMicroUsd = account.available_micro_usd + byMicroUsd;
  if (limitMicroUsd !== null && availableMicroUsd < 0) {
    const boundMicroUsd = limitMicroUsd - availableMicroUsd;
    throw new SandboxerError("budget_exceeded", `${dollars(boundMicroUsd)} is already bound or spent`, {
      details: { boundMicroUsd },
    });
  }
  prepare("UPDATE accounts SET limit_micro_usd = NULL WHERE id = ?").run(orgId);
  fund(connection, account, byMicroUsd, atMs);
  const row = prepare("UPDATE accounts SET limit_micro_usd = ? WHERE id = ? RETURNING *").get(
    limitMicroUsd,
    orgId,
  ) as unknown as AccountRow;
  appendEvent(connection, { type: "budget.changed", orgId, atMs, principalId, data: { limitMicroUsd } });
  return toBudget(row);
}
