import type { Sandbox } from "@sandboxer/contract";

export interface SandboxRow {
  id: string;
  org_id: string;
  principal_id: string;
  name: string | null;
  consumer: string;
  visibility: Sandbox["visibility"];
  team: string | null;
  profile: string | null;
  reuse: string | null;
  state: Sandbox["state"];
  spec: string;
  extension_id: string | null;
  host_id: string | null;
  ref: string | null;
  pause_depth: Sandbox["pauseDepth"] | null;
  best_effort: string;
  created_at_ms: number;
  started_at_ms: number | null;
  expires_at_ms: number | null;
  ended_at_ms: number | null;
  ending: "destroyed" | "expired" | null;
  reason: string | null;
  micro_usd_per_hour: number;
  running_micro_usd_per_hour: number;
  paused_micro_usd_per_hour: number;
  rate_since_ms: number | null;
  cost_before_micro_usd: number;
  cost_micro_usd: number;
  account_id: string | null;
  budget_micro_usd: number | null;
  held_micro_usd: number;
  metered_until_ms: number | null;
  covered_until_ms: number | null;
  creator: string | null;
  hibernates: 0 | 1;
  retention_ms: number | null;
  full_expires_at_ms: number | null;
}

/** A column without a value is a member that is absent. */
export function toSandbox(row: SandboxRow): Sandbox {
  return {
    id: row.id,
    ...(row.name !== null && { name: row.name }),
    orgId: row.org_id,
    principalId: row.principal_id,
    consumer: JSON.parse(row.consumer),
    visibility: row.visibility,
    ...(row.team !== null && { team: row.team }),
    ...(row.profile !== null && { profile: JSON.parse(row.profile) }),
    ...(row.reuse !== null && { reuse: JSON.parse(row.reuse) }),
    state: row.state,
    spec: JSON.parse(row.spec),
    ...(row.extension_id !== null &&
      row.host_id !== null &&
      row.ref !== null && {
        location: { extensionId: row.extension_id, hostId: row.host_id, ref: row.ref },
      }),
    ...(row.pause_depth && { pauseDepth: row.pause_depth }),
    bestEffort: JSON.parse(row.best_effort),
    createdAtMs: row.created_at_ms,
    ...(row.started_at_ms !== null && { startedAtMs: row.started_at_ms }),
    ...(row.expires_at_ms !== null && { expiresAtMs: row.expires_at_ms }),
    ...(row.ended_at_ms !== null && { endedAtMs: row.ended_at_ms }),
    ...(row.reason !== null && { reason: row.reason }),
    costMicroUsd: row.cost_micro_usd,
    ...(row.budget_micro_usd !== null && { budgetMicroUsd: row.budget_micro_usd }),
  };
}
