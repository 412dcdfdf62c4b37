import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("start")
    .description("start a stopped sandbox over the files that were kept")
    .argument("<sandbox>", "its id or name")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer start build")
    .action(start);
}

async function start(name: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const info = await withClient(async (client) => (await client.sandboxes.get(name)).start());
  process.stdout.write(`${json ? JSON.stringify(info) : name}\n`);
  process.exit(0);
}
