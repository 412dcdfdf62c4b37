import type { Event } from "@sandboxer/contract";
import { z } from "zod";
import { egressFor, egressSchema, GUARDED } from "./egress.ts";
import { findLiving } from "./find.ts";
import { type Answer, type Call, control } from "./route.ts";
import { listedView } from "./view.ts";

const MIB = 1 << 20;
const READ_AT_ONCE = 1_000;

export const observeRoutes = [
  control(
    { method: "GET", path: "/sandboxes/{id}/metrics", operation: "sandbox.read" },
    async ({ core, principal, params, query }) => {
      const sandbox = await findLiving(core, principal, params.id ?? "");
      const { cpuCount, memoryMB, diskSizeMB } = listedView(sandbox);
      const now = await core.metrics(principal, sandbox.id);
      const ranMs = Math.max(1, now.atMs - (sandbox.startedAtMs ?? now.atMs));
      const sample = {
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
      const isAsked = sample.timestampUnix >= startOf(query) && sample.timestampUnix <= endOf(query);
      return { status: 200, body: isAsked ? [sample] : [] };
    },
  ),
  control({ method: "GET", path: "?/sandboxes/{id}/logs", operation: "event.read" }, logs),
  control(
    {
      method: "PUT",
      path: "/sandboxes/{id}/network",
      operation: "sandbox.network",
      body: egressSchema.extend({ allow_internet_access: z.boolean().nullish() }),
    },
    async ({ core, desk, principal, params, body }) => {
      const { id, spec } = await findLiving(core, principal, params.id ?? "");
      const network = egressFor(body, body.allow_internet_access ?? true, desk.internet);
      if (spec.network.egress === "deny" && !network) return { status: 204 };
      await core.changeNetwork(principal, id, network ?? { ...GUARDED, rules: [] });
      return { status: 204 };
    },
  ),
];

const startOf = (query: URLSearchParams) => Number(query.get("start") ?? 0) || 0;
const endOf = (query: URLSearchParams) => Number(query.get("end") ?? 0) || Number.POSITIVE_INFINITY;

/** Of a sandbox's life and of what was started in it; what programs say is theirs. */
async function logs({ core, principal, params }: Call<unknown>): Promise<Answer> {
  const { id } = await findLiving(core, principal, params.id ?? "");
  const events: Event[] = [];
  for (let after = 0; ; ) {
    const page = await core.listEvents(principal, { after, limit: READ_AT_ONCE });
    events.push(...page.filter(({ sandboxId }) => sandboxId === id));
    const last = page.at(-1);
    if (page.length < READ_AT_ONCE || !last) break;
    after = last.seq;
  }
  const entries = events.map(({ type, atMs, data }) => ({
    timestamp: new Date(atMs).toISOString(),
    level: "info",
    message: type,
    fields: Object.fromEntries(Object.entries(data).map(([name, value]) => [name, String(value)])),
  }));
  const lines = entries.map(({ timestamp, message }) => ({ timestamp, line: message }));
  return { status: 200, body: { logs: lines, logEntries: entries } };
}
