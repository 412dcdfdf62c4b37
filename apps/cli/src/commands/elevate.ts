import type { ElevateBody } from "@sandboxer/contract";
import type { Command } from "commander";
import { durationMs } from "../arguments.ts";
import { allowance } from "../network.ts";

interface Options {
  readonly allow?: ElevateBody["rules"];
  readonly for?: number;
  readonly reason?: string;
  readonly idempotencyKey?: string;
  readonly end?: true;
  readonly json?: true;
}

const USUAL_MS = 600_000;

export function register(program: Command): void {
  program
    .command("elevate")
    .description("ask for more ways out of one sandbox, for a while; somebody else has to say yes")
    .argument("<sandbox>", "its id or name")
    .option("--allow <host>", "one more host it may reach meanwhile", allowance)
    .option("--for <time>", "how long (default: 10m)", durationMs)
    .option("--reason <words>", "for whoever decides")
    .option("--idempotency-key <key>", "asked again with the same, there is still one question")
    .option("--end", "take back at once what was opened")
    .option("--json", "print everything about the question")
    .addHelpText(
      "after",
      "\nExample:\n  $ sandboxer elevate build --allow files.example.com --for 10m --reason 'fetch a fixture'",
    )
    .action(elevate);
}

async function elevate(name: string, options: Options): Promise<void> {
  const { allow = [], for: asked = USUAL_MS, reason = "none given", idempotencyKey, end, json } = options;
  if (allow.length === 0 && !end) {
    const { SandboxerError } = await import("@sandboxer/contract");
    throw new SandboxerError("invalid_request", "say what it may reach meanwhile", {
      hint: `As in: sandboxer elevate ${name} --allow files.example.com`,
    });
  }
  const { withClient } = await import("../connect.ts");
  await withClient(async (client) => {
    const sandbox = await client.sandboxes.get(name);
    if (end) {
      await sandbox.endElevations();
      process.stdout.write(`${sandbox.id}\n`);
      return;
    }
    const once = idempotencyKey === undefined ? {} : { idempotencyKey };
    const approval = await sandbox.elevate({ rules: allow, durationMs: asked, reason }, once);
    process.stdout.write(`${json ? JSON.stringify(approval) : approval.id}\n`);
  });
  process.exit(0);
}
