import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

/** What the numbers depend on. Nothing that identifies the machine. */
export function describeMachine() {
  const cores = cpus();
  return {
    processor: cores[0]?.model ?? "unknown",
    cores: cores.length,
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    kernel: release(),
    cgroups: readFileSync("/proc/self/mounts", "utf8").includes(" cgroup rw") ? "v1" : "v2",
    node: process.version,
    loadAverage: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}
