import type { Command } from "commander";
import { table } from "../table.ts";

export function register(program: Command): void {
  program
    .command("reach")
    .description("say how to get to a sandbox")
    .argument("<sandbox>", "its id or name")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer reach build --json")
    .action(reach);
}

async function reach(name: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const found = await withClient(async (client) => (await client.sandboxes.get(name)).reachability());
  const rows = found.ways.map(({ kind, method, path }) => [kind, method, path]);
  process.stdout.write(`${json ? JSON.stringify(found) : table(["WAY", "METHOD", "PATH"], rows)}\n`);
  process.exit(0);
}
