import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Gauge } from "../observe/meters.ts";
import { VERSION } from "../version.ts";
import { route } from "./route.ts";

const loopDelay = monitorEventLoopDelay({ resolution: 20 });

export const metricsRoutes = [
  route(
    {
      method: "GET",
      path: "/metrics",
      operation: "key",
      summary: "Figures for Prometheus; the root key's alone",
      answer: {
        type: "text",
        contentType: "text/plain; version=0.0.4; charset=utf-8",
        description: "Prometheus' text format.",
      },
    },
    async ({ core, meters, principal }) => {
      const sandboxes = await core.census(principal);
      loopDelay.enable();
      return { body: meters.write([...processGauges(), sandboxGauge(sandboxes)]) };
    },
  ),
];

function sandboxGauge(counts: ReadonlyMap<string, number>): Gauge {
  const values = [...counts].map(([state, count]) => [{ state }, count] as const);
  return { name: "sandboxer_sandboxes", help: "Sandboxes of the org, by state.", values };
}

function processGauges(): Gauge[] {
  const gauge = (name: string, help: string, value: number): Gauge => ({ name, help, values: [[{}, value]] });
  return [
    { name: "sandboxer_build_info", help: "Always 1.", values: [[{ version: VERSION }, 1]] },
    gauge("process_resident_memory_bytes", "Memory of the gateway.", process.memoryUsage.rss()),
    gauge(
      "process_start_time_seconds",
      "When the gateway began.",
      Math.round(performance.timeOrigin / 1_000),
    ),
    gauge("sandboxer_event_loop_delay_seconds", "At the 99th percentile.", loopDelay.percentile(99) / 1e9),
  ];
}
