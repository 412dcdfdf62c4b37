import type { Stored, StoreReport } from "@sandboxer/contract";
import type { Command } from "commander";
import { table } from "../table.ts";

export function register(program: Command): void {
  const store = program
    .command("store")
    .description("what takes room here, and who needs it; for the operator");
  store
    .command("ls")
    .description("list sandboxes, the layers they share, and snapshots, with what each takes")
    .option("--json", "print everything")
    .addHelpText("after", "\nExample:\n  $ sandboxer store ls")
    .action(ls);
  store
    .command("prune")
    .description("remove snapshots without a name whose sandbox is over and that nothing needs")
    .option("--dry-run", "say what would go, and remove nothing")
    .option("--json", "print everything")
    .addHelpText("after", "\nExample:\n  $ sandboxer store prune --dry-run")
    .action(prune);
}

async function ls({ json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  print(await withClient((client) => client.store.list()), json);
}

async function prune({ dryRun = false, json }: { dryRun?: boolean; json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  print(await withClient((client) => client.store.prune({ dryRun })), json);
}

function print(report: StoreReport, json: true | undefined): void {
  const size = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  const row = ({ kind, id, bytes, usedBy, prunable, note = "" }: Stored) => [
    kind,
    id,
    size(bytes),
    usedBy.join(" ") || (prunable ? "nobody" : ""),
    note,
  ];
  const rows = [...report.stored].sort((a, b) => b.bytes - a.bytes).map(row);
  const text = `${table(["KIND", "ID", "SIZE", "USED BY", ""], rows)}\n${size(report.bytes)} in all`;
  process.stdout.write(`${json ? JSON.stringify(report) : text}\n`);
  process.exit(0);
}
