import { newRowId, newSandboxId, type Sandbox } from "@sandboxer/contract";
import type { BeginCreate, SettleCreate } from "../src/store/store.ts";

/** What `create` would write, for tests that drive the store alone. */
export function beginCreateOf(sandbox: Partial<Sandbox> & { orgId: string }): BeginCreate {
  const row: Sandbox = {
    id: newSandboxId(),
    principalId: "prn_one",
    consumer: { kind: "agent", project: "tests" },
    visibility: "org",
    state: "provisioning",
    spec: {
      schema: 1,
      image: { kind: "host" },
      isolation: "process",
      persistence: "ephemeral",
      network: { egress: "deny" },
      resources: {},
      limits: "best-effort",
      env: {},
      labels: {},
      ttlMs: 10_000,
    },
    bestEffort: [],
    createdAtMs: 1_000,
    costMicroUsd: 0,
    ...sandbox,
  };
  const { id: sandboxId, orgId, principalId, createdAtMs } = row;
  return {
    sandbox: row,
    attachment: {
      id: newRowId("att"),
      sandboxId,
      orgId,
      principalId,
      access: "read-write",
      byPrincipalId: principalId,
      implicit: true,
      createdAtMs,
    },
    holdMicroUsd: 10_000,
    data: {},
  };
}

/** Runs from 2,000 to 12,000 at one micro-dollar a millisecond. */
export function settleOf(sandboxId: string): SettleCreate {
  return {
    sandboxId,
    location: { extensionId: "plain", hostId: "here", ref: `box-${sandboxId}` },
    bestEffort: [],
    startedAtMs: 2_000,
    expiresAtMs: 12_000,
    microUsdPerHour: 3_600_000,
    data: {},
  };
}
