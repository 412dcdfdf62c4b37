import type { Principal, Sandbox } from "@sandboxer/contract";
import { SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { findLiving } from "./find.ts";
import { wholeIn } from "./query.ts";
import { control } from "./route.ts";
import { listedView } from "./view.ts";

const MIB = 1 << 20;
const MOST_AT_ONCE = 100;

/** What it uses now: no more is kept of it. */
async function sampleOf(core: Core, principal: Principal, sandbox: Sandbox) {
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

export const metricRoutes = [
  control(
    { method: "GET", path: "/sandboxes/metrics", operation: "sandbox.read" },
    async ({ core, principal, query }) => {
      const ids = new Set(query.getAll("sandbox_ids").flatMap((text) => text.split(",")));
      if (ids.size > MOST_AT_ONCE) {
        const why = `Too many sandboxes requested, maximum is ${MOST_AT_ONCE}`;
        throw new SandboxerError("invalid_request", why);
      }
      if (ids.size === 0 || ids.has("")) throw new SandboxerError("invalid_request", "Invalid sandbox ID");
      const sampled = [...ids].map(async (asked) => {
        const sandbox = await findLiving(core, principal, asked);
        return [sandbox.id, await sampleOf(core, principal, sandbox)] as const;
      });
      // What is gone or another's has nothing to show, and is no reason to show nothing.
      const found = (await Promise.allSettled(sampled)).flatMap((one) =>
        one.status === "fulfilled" ? [one.value] : [],
      );
      return { status: 200, body: { sandboxes: Object.fromEntries(found) } };
    },
  ),
  control(
    { method: "GET", path: "/sandboxes/{id}/metrics", operation: "sandbox.read" },
    async ({ core, principal, params, query }) => {
      const start = wholeIn(query, "start", { least: 0 }) ?? 0;
      const end = wholeIn(query, "end", { least: 0 }) || Number.POSITIVE_INFINITY;
      const sandbox = await findLiving(core, principal, params.id ?? "");
      const sample = await sampleOf(core, principal, sandbox);
      const isAsked = sample.timestampUnix >= start && sample.timestampUnix <= end;
      return { status: 200, body: isAsked ? [sample] : [] };
    },
  ),
];
