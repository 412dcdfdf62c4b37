import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("resume")
    .description("let a paused sandbox go on")
    .argument("<sandbox>", "its id or name")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer resume build")
    .action(resume);
}

async function resume(name: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const info = await withClient(async (client) => (await client.sandboxes.get(name)).resume());
  process.stdout.write(`${json ? JSON.stringify(info) : name}\n`);
  process.exit(0);
}
