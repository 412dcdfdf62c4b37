import { type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { BeginCreate, Store } from "../store.ts";
import { accountOf } from "./accounts.ts";
import { insertAttachment } from "./attachment-row.ts";
import { appendEvent } from "./events.ts";
import { answerClaim, claimOnce } from "./idempotency.ts";
import { post } from "./ledger.ts";
import { refuseBeyondOwnBudget } from "./metering.ts";
import type { Connection } from "./open.ts";
import { refuseTakenLabel } from "./reusing.ts";
import { type SandboxRow, toSandbox } from "./sandbox-row.ts";

export function creatingCommands(connection: Connection): Pick<Store, "beginCreate" | "settleCreate"> {
  const { prepare, commit, commitSoon } = connection;
  return {
    async beginCreate(begin) {
      const { sandbox, claim, keyId, holdMicroUsd, data } = begin;
      const { id: sandboxId, orgId, principalId, createdAtMs: atMs } = sandbox;
      commitSoon(() => {
        refuseTakenName(connection, sandbox);
        refuseTakenLabel(connection, begin);
        const own = { budget_micro_usd: sandbox.budgetMicroUsd ?? null, cost_micro_usd: 0 };
        refuseBeyondOwnBudget(own, holdMicroUsd);
        const { id: accountId } = accountOf(connection, orgId, keyId);
        insertRows(connection, begin, accountId);
        post(connection, "hold", holdMicroUsd, { orgId, accountId, sandboxId, atMs });
        appendEvent(connection, {
          type: "sandbox.requested",
          orgId,
          atMs,
          sandboxId,
          principalId,
          data: { ...data, holdMicroUsd },
        });
        claimOnce(connection, claim, { sandboxId });
      });
    },

    async settleCreate(settle) {
      const isToldAtOnce = settle.endsWithThisMachine && !settle.claimed;
      return (isToldAtOnce ? commitSoon : commit)(() => {
        const row = prepare(
          `UPDATE sandboxes SET state = 'running', extension_id = ?, host_id = ?, ref = ?,
             best_effort = ?, started_at_ms = ?, metered_until_ms = ?, expires_at_ms = ?,
             covered_until_ms = ?, micro_usd_per_hour = ?, running_micro_usd_per_hour = ?,
             paused_micro_usd_per_hour = ?, rate_since_ms = ?
           WHERE id = ? AND state = 'provisioning' RETURNING *`,
        ).get(
          settle.location.extensionId,
          settle.location.hostId,
          settle.location.ref,
          JSON.stringify(settle.bestEffort),
          settle.startedAtMs,
          settle.startedAtMs,
          settle.expiresAtMs,
          settle.coveredUntilMs ?? settle.expiresAtMs,
          settle.microUsdPerHour,
          settle.microUsdPerHour,
          settle.pausedMicroUsdPerHour ?? settle.microUsdPerHour,
          settle.startedAtMs,
          settle.sandboxId,
        ) as unknown as SandboxRow | undefined;
        if (!row) return undefined;
        const sandbox = toSandbox(row);
        if (settle.claimed) answerClaim(connection, sandbox.id, sandbox);
        appendEvent(connection, {
          type: "sandbox.created",
          orgId: sandbox.orgId,
          atMs: settle.startedAtMs,
          sandboxId: sandbox.id,
          principalId: sandbox.principalId,
          data: {
            ...settle.data,
            location: settle.location,
            microUsdPerHour: settle.microUsdPerHour,
            pausedMicroUsdPerHour: settle.pausedMicroUsdPerHour,
          },
        });
        return sandbox;
      });
    },
  };
}

function refuseTakenName({ prepare }: Connection, { name, orgId, principalId }: Sandbox): void {
  if (name === undefined) return;
  const taken = prepare(
    "SELECT id FROM sandboxes WHERE org_id = ? AND name = ? AND principal_id = ? AND ended_at_ms IS NULL",
  ).get(orgId, name, principalId) as { id: string } | undefined;
  if (!taken) return;
  throw new SandboxerError("conflict", `a sandbox named ${name} is living`, {
    details: { name, sandboxId: taken.id },
  });
}

function insertRows(connection: Connection, begin: BeginCreate, accountId: string): void {
  const { sandbox, attachment, keyId, lineage = [], creator, label } = begin;
  const { id: sandboxId, orgId, principalId, createdAtMs: atMs } = sandbox;
  connection
    .prepare(
      `INSERT INTO sandboxes (id, org_id, principal_id, name, consumer, state, spec, best_effort,
             created_at_ms, visibility, team, lineage, key_id, account_id, profile,
             budget_micro_usd, creator, reuse, label)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      sandboxId,
      orgId,
      principalId,
      sandbox.name ?? null,
      JSON.stringify(sandbox.consumer),
      sandbox.state,
      JSON.stringify(sandbox.spec),
      JSON.stringify(sandbox.bestEffort),
      atMs,
      sandbox.visibility,
      sandbox.team ?? null,
      `/${[...new Set([...lineage, principalId])].join("/")}/`,
      keyId ?? null,
      accountId,
      sandbox.profile ? JSON.stringify(sandbox.profile) : null,
      sandbox.budgetMicroUsd ?? null,
      creator ?? null,
      sandbox.reuse ? JSON.stringify(sandbox.reuse) : null,
      label ?? null,
    );
  insertAttachment(connection, attachment);
}
