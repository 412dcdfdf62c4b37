import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("pause")
    .description("stop every process of a sandbox where it is")
    .argument("<sandbox>", "its id or name")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer pause build")
    .action(pause);
}

async function pause(name: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const info = await withClient(async (client) => (await client.sandboxes.get(name)).pause());
  process.stdout.write(`${json ? JSON.stringify(info) : name}\n`);
  process.exit(0);
}
