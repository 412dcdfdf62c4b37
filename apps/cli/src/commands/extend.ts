import type { Command } from "commander";
import { durationMs } from "../arguments.ts";
import { span } from "../table.ts";

export function register(program: Command): void {
  program
    .command("extend")
    .description("move a sandbox's end, and reserve what that costs")
    .argument("<sandbox>", "its id or name")
    .argument("<time>", "how long it lives from now, as in 30m", durationMs)
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer extend build 2h")
    .action(extend);
}

async function extend(idOrName: string, ttlMs: number, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const info = await withClient(async (client) => (await client.sandboxes.get(idOrName)).extend(ttlMs));
  const left = `ends in ${span((info.expiresAtMs ?? Date.now()) - Date.now())}`;
  process.stdout.write(`${json ? JSON.stringify(info) : left}\n`);
  process.exit(0);
}
