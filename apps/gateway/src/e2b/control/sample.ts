import type { Principal, Sandbox } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { listedView } from "./view.ts";

const MIB = 1 << 20;

/** What it uses now: no more is kept of it. */
export async function sampleOf(core: Core, principal: Principal, sandbox: Sandbox) {
  const { cpuCount, memoryMB, diskSizeMB } = listedView(sandbox);
  const now = await core.metrics(principal, sandbox.id);
  const ranMs = Math.max(1, now.atMs - (sandbox.startedAtMs ?? now.atMs));
  return {
    timestamp: new Date(now.atMs).toISOString(),
    timestampUnix: Math.floor(now.atMs / 1_000),
    cpuCount,
    cpuUsedPct: Math.round((now.cpuTimeMs / ranMs) * 10_000) / 100,
    memUsed: now.memoryBytes,
    memTotal: now.memoryLimitBytes ?? memoryMB * MIB,
    memCache: 0,
    diskUsed: now.diskBytes ?? 0,
    diskTotal: diskSizeMB * MIB,
  };
}
