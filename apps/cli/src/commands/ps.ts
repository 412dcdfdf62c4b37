import type { ProcessInfo } from "@sandboxer/contract";
import type { Command } from "commander";
import { exitCodeOf } from "../relay.ts";
import { adviseIfNone, span, table } from "../table.ts";

export function register(program: Command): void {
  program
    .command("ps")
    .description("list the commands of a sandbox")
    .argument("<sandbox>", "its id or name")
    .option("-a, --all", "also those that ended lately")
    .option("--json", "print everything about them")
    .addHelpText("after", "\nExample:\n  $ sandboxer ps build")
    .action(ps);
}

async function ps(idOrName: string, { all, json }: { all?: true; json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const found = await withClient(async (client) => (await client.sandboxes.get(idOrName)).processes());
  const shown = all ? found : found.filter(({ exit }) => !exit);
  const head = ["PROCESS", "PID", "STATE", "AGE", "OUTPUT", "COMMAND"];
  process.stdout.write(`${json ? JSON.stringify(shown) : table(head, shown.map(row))}\n`);
  if (!json) adviseIfNone(shown, "`sandboxer exec -d` leaves a command running.");
  process.exit(0);
}

function row({ id, pid, exit, startedAtMs, stdoutBytes, stderrBytes, argv }: ProcessInfo): string[] {
  const state = exit ? `exit ${exitCodeOf(exit)}` : "running";
  const age = span(Date.now() - startedAtMs);
  return [id, String(pid ?? ""), state, age, `${stdoutBytes + stderrBytes} B`, argv.join(" ").slice(0, 200)];
}
