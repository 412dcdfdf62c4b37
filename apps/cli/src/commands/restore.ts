import type { Command } from "commander";
import { durationMs } from "../arguments.ts";
import { waiting } from "../waiting.ts";

interface Options {
  readonly name?: string;
  readonly ttl?: number;
  readonly idempotencyKey?: string;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("restore")
    .description("start a sandbox from a snapshot, and print its id")
    .argument("<snapshot>", "its id or name")
    .option("--name <name>", "a name for the sandbox")
    .option("--ttl <time>", "how long it lives (default: 1h)", durationMs)
    .option("--idempotency-key <key>", "asked again with the same, there is still one sandbox")
    .option("--json", "print everything about it; give errors as JSON")
    .addHelpText(
      "after",
      "\nExample:\n  $ sandboxer restore tools --name build\n\n`create --from` does the same, with every option of `create`.",
    )
    .action(restore);
}

async function restore(from: string, { name, ttl, idempotencyKey, json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const body = { from, ...(name !== undefined && { name }), ...(ttl && { ttlMs: ttl }) };
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const made = withClient((client) => client.sandboxes.create(body, once));
  const { id, info } = await waiting("restoring a snapshot", made);
  process.stdout.write(`${json ? JSON.stringify(info) : id}\n`);
  process.exit(0);
}
