import { sampleOf } from "../control/sample.ts";
import { answerJson } from "../exchange.ts";
import type { Visit } from "./visit.ts";

const MIB = 1 << 20;

/** `GET /envs`: the variables that everything in it is started with. */
export function tellVariables({ outgoing, sandbox }: Visit): void {
  answerJson(outgoing, 200, sandbox.spec.env);
}

/** `GET /metrics`: what it uses now. */
export async function tellUse({ ground, principal, sandbox, outgoing }: Visit): Promise<void> {
  const sample = await sampleOf(ground.core, principal, sandbox);
  answerJson(outgoing, 200, {
    ts: sample.timestampUnix,
    cpu_count: sample.cpuCount,
    cpu_used_pct: sample.cpuUsedPct,
    mem_total: sample.memTotal,
    mem_used: sample.memUsed,
    mem_cache: sample.memCache,
    mem_total_mib: Math.floor(sample.memTotal / MIB),
    mem_used_mib: Math.floor(sample.memUsed / MIB),
    disk_total: sample.diskTotal,
    disk_used: sample.diskUsed,
  });
}
