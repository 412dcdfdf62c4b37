import type { ProcessInfo } from "@sandboxer/contract";
import type { Command } from "commander";
import { exitCodeOf } from "../relay.ts";
import { isShellIn } from "../shell-script.ts";
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
  const { found, name } = await withClient(async (client) => {
    const sandbox = await client.sandboxes.get(idOrName);
    return { found: await sandbox.processes(), name: sandbox.info.name };
  });
  const shown = all ? found : found.filter(({ exit }) => !exit);
  const head = ["PROCESS", "PID", "STATE", "AGE", "OUTPUT", "COMMAND"];
  const rows = shown.map((one) => row(one, isShellIn(one.argv, name) ? "shell" : one.argv.join(" ")));
  process.stdout.write(`${json ? JSON.stringify(shown) : table(head, rows)}\n`);
  if (!json) adviseIfNone(shown, "`sandboxer exec -d` leaves a command running.");
  process.exit(0);
}

const MOST_SHOWN = 200;

function row({ id, pid, exit, startedAtMs, stdoutBytes, stderrBytes }: ProcessInfo, command: string) {
  const state = exit ? `exit ${exitCodeOf(exit)}` : "running";
  const age = span(Date.now() - startedAtMs);
  const shown = command.length > MOST_SHOWN ? `${command.slice(0, MOST_SHOWN - 1)}…` : command;
  return [id, String(pid ?? ""), state, age, `${stdoutBytes + stderrBytes} B`, shown];
}
