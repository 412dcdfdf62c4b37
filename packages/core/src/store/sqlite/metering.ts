import { dollars, SandboxerError } from "@sandboxer/contract";
import { meter } from "../../ledger/meter.ts";
import { post } from "./ledger.ts";
import type { Connection } from "./open.ts";
import type { SandboxRow } from "./sandbox-row.ts";

/** Within a write: charges what ran since the last time, once. Gives the row as it is then. */
export function charge(connection: Connection, row: SandboxRow, atMs: number): SandboxRow {
  const { metered_until_ms: fromMs } = row;
  const toMs = Math.min(atMs, row.expires_at_ms ?? atMs);
  if (fromMs === null || toMs <= fromMs) return row;
  const { captureMicroUsd } = meter({ ...readingOf(row), endedAtMs: atMs });
  post(connection, "capture", captureMicroUsd, { ...postingOf(row, atMs), interval: { fromMs, toMs } });
  return connection
    .prepare(
      "UPDATE sandboxes SET cost_micro_usd = cost_micro_usd + ?, metered_until_ms = ? WHERE id = ? RETURNING *",
    )
    .get(captureMicroUsd, toMs, row.id) as unknown as SandboxRow;
}

/** Within a write: charges what ran at the old rate; from then on it costs the new one. */
export function changeRate(
  connection: Connection,
  row: SandboxRow,
  microUsdPerHour: number,
  atMs: number,
): SandboxRow {
  const charged = charge(connection, row, atMs);
  return connection
    .prepare(
      `UPDATE sandboxes SET micro_usd_per_hour = ?, rate_since_ms = metered_until_ms,
         cost_before_micro_usd = cost_micro_usd WHERE id = ? RETURNING *`,
    )
    .get(microUsdPerHour, charged.id) as unknown as SandboxRow;
}

/**
 * Within a write: the hold becomes what it will have cost by then, beyond what it has cost. That of
 * a paused sandbox is as if it ran, so that going on never fails for money; a stopped one is paid for
 * as it lies there, and anew when it is started.
 */
export function holdUntil(
  connection: Connection,
  row: SandboxRow,
  untilMs: number,
  atMs: number,
): SandboxRow {
  const paused = row.micro_usd_per_hour !== row.running_micro_usd_per_hour && row.pause_depth !== "disk";
  const { captureMicroUsd: neededMicroUsd } = meter({
    ...(paused ? asIfRunning(row) : readingOf(row)),
    expiresAtMs: untilMs,
    endedAtMs: untilMs,
    heldMicroUsd: Number.POSITIVE_INFINITY,
  });
  refuseBeyondOwnBudget(row, neededMicroUsd);
  const moreMicroUsd = neededMicroUsd - row.held_micro_usd;
  if (moreMicroUsd > 0) post(connection, "hold", moreMicroUsd, postingOf(row, atMs));
  if (moreMicroUsd < 0) post(connection, "release", -moreMicroUsd, postingOf(row, atMs));
  return connection
    .prepare("UPDATE sandboxes SET covered_until_ms = ? WHERE id = ? RETURNING *")
    .get(untilMs, row.id) as unknown as SandboxRow;
}

/** Within a write: the last charge, and the rest of the hold goes back. */
export function settleCharge(connection: Connection, row: SandboxRow, atMs: number): SandboxRow {
  const { captureMicroUsd, releaseMicroUsd } = meter({ ...readingOf(row), endedAtMs: atMs });
  const { metered_until_ms: fromMs, expires_at_ms: endMs } = row;
  const toMs = Math.max(fromMs ?? 0, Math.min(atMs, endMs ?? atMs));
  const interval = fromMs === null ? undefined : { fromMs, toMs };
  post(connection, "capture", captureMicroUsd, { ...postingOf(row, atMs), interval });
  post(connection, "release", releaseMicroUsd, postingOf(row, atMs));
  return { ...row, cost_micro_usd: row.cost_micro_usd + captureMicroUsd };
}

export function refuseBeyondOwnBudget(
  row: Pick<SandboxRow, "budget_micro_usd" | "cost_micro_usd">,
  heldMicroUsd: number,
): void {
  const { budget_micro_usd: budgetMicroUsd, cost_micro_usd: costMicroUsd } = row;
  const neededMicroUsd = costMicroUsd + heldMicroUsd;
  if (budgetMicroUsd === null || neededMicroUsd <= budgetMicroUsd) return;
  throw new SandboxerError(
    "budget_exceeded",
    `it would cost up to ${dollars(neededMicroUsd)}; the sandbox's own budget is ${dollars(budgetMicroUsd)}`,
    { details: { neededMicroUsd, budgetMicroUsd } },
  );
}

function readingOf(row: SandboxRow) {
  return {
    microUsdPerHour: row.micro_usd_per_hour,
    startedAtMs: row.rate_since_ms ?? undefined,
    expiresAtMs: row.expires_at_ms ?? undefined,
    heldMicroUsd: row.held_micro_usd,
    capturedMicroUsd: row.cost_micro_usd - row.cost_before_micro_usd,
  };
}

function asIfRunning(row: SandboxRow) {
  return {
    ...readingOf(row),
    microUsdPerHour: row.running_micro_usd_per_hour,
    startedAtMs: row.metered_until_ms ?? undefined,
    capturedMicroUsd: 0,
  };
}

function postingOf({ id: sandboxId, org_id: orgId, account_id }: SandboxRow, atMs: number) {
  return { orgId, sandboxId, accountId: account_id ?? orgId, atMs };
}
