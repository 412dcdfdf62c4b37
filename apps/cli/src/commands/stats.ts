import type { Metrics } from "@sandboxer/contract";
import type { Command } from "commander";
import { table } from "../table.ts";

export function register(program: Command): void {
  program
    .command("stats")
    .description("show what a sandbox uses")
    .argument("<sandbox>", "its id or name")
    .option("--json", "print every figure as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer stats build")
    .action(stats);
}

async function stats(name: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const metrics = await withClient(async (client) => (await client.sandboxes.get(name)).metrics());
  const head = ["CPU TIME", "MEMORY", "LIMIT", "PIDS", "DISK", "OUT OF MEMORY"];
  process.stdout.write(`${json ? JSON.stringify(metrics) : table(head, [row(metrics)])}\n`);
  process.exit(0);
}

function row(metrics: Metrics): string[] {
  const { cpuTimeMs, memoryBytes, memoryLimitBytes, pids, diskBytes, oomKills } = metrics;
  return [
    `${(cpuTimeMs / 1_000).toFixed(2)}s`,
    mebibytes(memoryBytes),
    mebibytes(memoryLimitBytes),
    String(pids),
    mebibytes(diskBytes),
    String(oomKills),
  ];
}

const mebibytes = (bytes: number | undefined): string =>
  bytes === undefined ? "-" : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
