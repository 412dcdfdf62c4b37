import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("stop")
    .description("end every process of a persistent sandbox and keep its files")
    .argument("<sandbox>", "its id or name")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer stop build")
    .action(stop);
}

async function stop(name: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const info = await withClient(async (client) => (await client.sandboxes.get(name)).stop());
  process.stdout.write(`${json ? JSON.stringify(info) : name}\n`);
  process.exit(0);
}
