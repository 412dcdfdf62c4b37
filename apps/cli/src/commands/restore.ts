import type { Command } from "commander";
import { durationMs } from "../arguments.ts";
import { waiting } from "../waiting.ts";
import { addWorkspaceOptions, type WorkspaceOptions, workspaceOf } from "../workspace.ts";

interface Options extends WorkspaceOptions {
  readonly name?: string;
  readonly ttl?: number;
  readonly idempotencyKey?: string;
  readonly json?: true;
}

export function register(program: Command): void {
  const command = program
    .command("restore")
    .description("start a sandbox from a snapshot, and print its id")
    .argument("<snapshot>", "its id or name")
    .option("--name <name>", "a name for the sandbox")
    .option("--ttl <time>", "how long it lives (default: 1h)", durationMs)
    .option("--idempotency-key <key>", "asked again with the same, there is still one sandbox")
    .option("--json", "print everything about it; give errors as JSON");
  addWorkspaceOptions(command)
    .addHelpText(
      "after",
      "\nExample:\n  $ sandboxer restore tools --name build\n\nWhat it changed in a folder goes over the folder that `-w` gives. `create --from` does the same, with every option of `create`.",
    )
    .action(restore);
}

async function restore(from: string, options: Options): Promise<void> {
  const { name, ttl, idempotencyKey, json } = options;
  const { withClient } = await import("../connect.ts");
  const body = {
    from,
    ...(name !== undefined && { name }),
    ...(ttl && { ttlMs: ttl }),
    ...(await workspaceOf(options)),
  };
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const made = withClient((client) => client.sandboxes.create(body, once));
  const { id, info } = await waiting("restoring a snapshot", made);
  process.stdout.write(`${json ? JSON.stringify(info) : id}\n`);
  process.exit(0);
}
