import type { Sandbox, SandboxState } from "@sandboxer/contract";
import type { Command } from "commander";
import { describeImage } from "../image.ts";
import { span, table } from "../table.ts";

const LIVING: readonly SandboxState[] = ["requested", "provisioning", "running", "paused", "destroying"];

export function register(program: Command): void {
  program
    .command("ls")
    .description("list sandboxes")
    .option("-a, --all", "also those that are over")
    .option("--json", "print everything about them")
    .addHelpText("after", "\nExample:\n  $ sandboxer ls --all")
    .action(ls);
}

async function ls({ all, json }: { all?: true; json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const sandboxes = await withClient(async (client) => {
    const found: Sandbox[] = [];
    const query = { limit: 200, ...(all ? {} : { states: LIVING }) };
    for await (const { info } of client.sandboxes.all(query)) found.push(info);
    return found;
  });
  const text = json
    ? JSON.stringify(sandboxes)
    : table(["ID", "NAME", "STATE", "IMAGE", "AGE", "EXPIRES"], sandboxes.map(row));
  process.stdout.write(`${text}\n`);
  process.exit(0);
}

function row(sandbox: Sandbox): string[] {
  const { id, name = "", state, spec, createdAtMs, expiresAtMs } = sandbox;
  const now = Date.now();
  const living = LIVING.includes(state);
  return [
    id,
    name,
    state,
    describeImage(spec.image),
    span(now - createdAtMs),
    living && expiresAtMs !== undefined ? `in ${span(expiresAtMs - now)}` : "",
  ];
}
