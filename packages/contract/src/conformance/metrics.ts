import { metricsSchema } from "../metrics.ts";
import { ok, shell } from "./assert.ts";
import type { Case } from "./subject.ts";

export const metricsCases: Case[] = [
  {
    name: "counts what a sandbox uses, outside of it",
    async run({ subject }) {
      const sandbox = await subject.create();
      const before = await sandbox.metrics();
      ok(metricsSchema.safeParse(before).success, `not metrics: ${JSON.stringify(before)}`);
      ok(before.pids >= 1 && before.memoryBytes > 0, `nothing is counted: ${JSON.stringify(before)}`);
      await shell(sandbox, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
      const after = await sandbox.metrics();
      ok(after.cpuTimeMs > before.cpuTimeMs, "work took no time");
      ok(after.atMs >= before.atMs, "time went back");
      await subject.destroy(sandbox.id);
    },
  },
];
