import type { Command } from "commander";
import { label } from "../arguments.ts";

interface Options {
  readonly name?: string;
  readonly label?: Record<string, string>;
  readonly idempotencyKey?: string;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("snapshot")
    .description("keep a sandbox's files as they are now; `create --from` starts from them")
    .argument("<sandbox>", "its id or name")
    .option("--name <name>", "a name to use instead of the id")
    .option("-l, --label <key=value>", "a label", label)
    .option("--idempotency-key <key>", "asked again with the same, there is still one")
    .option("--json", "print everything about it; give errors as JSON")
    .addHelpText(
      "after",
      "\nExample:\n  $ sandboxer snapshot build --name tools && sandboxer create --from tools",
    )
    .action(snapshot);
}

async function snapshot(idOrName: string, options: Options): Promise<void> {
  const { name, label: labels = {}, idempotencyKey, json } = options;
  const { withClient } = await import("../connect.ts");
  const taken = await withClient(async (client) => {
    const sandbox = await client.sandboxes.get(idOrName);
    const once = idempotencyKey === undefined ? {} : { idempotencyKey };
    return sandbox.snapshot({ labels, ...(name && { name }) }, once);
  });
  process.stdout.write(`${json ? JSON.stringify(taken) : taken.id}\n`);
  process.exit(0);
}
