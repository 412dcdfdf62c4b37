import type { Command } from "commander";
import { addCreateOptions, type CreateOptions, createBodyOf } from "../create-options.ts";
import { TOPICS } from "../making-options.ts";
import { waiting } from "../waiting.ts";

interface Options extends CreateOptions {
  readonly idempotencyKey?: string;
  readonly json?: true;
}

export function register(program: Command): void {
  const command = program
    .command("create")
    .description("create a sandbox and print its id")
    .addHelpText("after", "\nExample:\n  $ sandboxer create --name build --ttl 30m --env CI=1")
    .action(create);
  addCreateOptions(command)
    .optionsGroup(TOPICS.most)
    .option("--idempotency-key <key>", "asked again with the same, there is still one sandbox")
    .option("--json", "print everything about it");
}

async function create(options: Options): Promise<void> {
  const { idempotencyKey, json } = options;
  const { withSandboxes } = await import("../connect.ts");
  const body = await createBodyOf(options);
  const made = withSandboxes((sandboxes) =>
    sandboxes.create(body, idempotencyKey === undefined ? {} : { idempotencyKey }),
  );
  const sandbox = await waiting("starting a sandbox", made);
  process.stdout.write(`${json ? JSON.stringify(sandbox.info) : sandbox.id}\n`);
  process.exit(0);
}
