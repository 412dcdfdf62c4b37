import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("recreate")
    .description("end a sandbox and make another that was asked for in the same words; prints its id")
    .argument("<sandbox>", "its id or name")
    .option("--idempotency-key <key>", "asked again with the same, there is still one")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer recreate build")
    .action(recreate);
}

async function recreate(name: string, options: { idempotencyKey?: string; json?: true }): Promise<void> {
  const { idempotencyKey, json } = options;
  const { withClient } = await import("../connect.ts");
  const { info } = await withClient(async (client) =>
    (await client.sandboxes.get(name)).recreate(idempotencyKey === undefined ? {} : { idempotencyKey }),
  );
  process.stdout.write(`${json ? JSON.stringify(info) : info.id}\n`);
  process.exit(0);
}
