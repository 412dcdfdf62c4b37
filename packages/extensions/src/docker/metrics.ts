import { type MetricsFacet, metricsSchema } from "@sandboxer/contract";
import type { DockerApi } from "./api.ts";
import { nameOf } from "./container.ts";
import { expectStatus } from "./failure.ts";

interface Stats {
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly memory_stats?: {
    readonly usage?: number;
    readonly limit?: number;
    readonly max_usage?: number;
  };
  readonly pids_stats?: { readonly current?: number };
}

/** The daemon reads the kernel's books; nothing is asked of the sandbox. */
export function metricsThrough(api: DockerApi): MetricsFacet {
  return {
    async read(ref) {
      const answer = await api.call("GET", `/containers/${nameOf(ref)}/stats?stream=false&one-shot=true`);
      const { cpu_stats, memory_stats, pids_stats } = expectStatus(answer, "reading stats", 200)
        .body as Stats;
      return metricsSchema.parse({
        atMs: Date.now(),
        cpuTimeMs: Math.floor((cpu_stats?.cpu_usage?.total_usage ?? 0) / 1e6),
        memoryBytes: memory_stats?.usage ?? 0,
        memoryLimitBytes: memory_stats?.limit,
        memoryPeakBytes: memory_stats?.max_usage,
        pids: pids_stats?.current ?? 0,
        oomKills: 0,
      });
    },
  };
}
