import type { Sandbox, SandboxState } from "@sandboxer/contract";
import type { Command } from "commander";
import { describeImage } from "../image.ts";
import { adviseIfNone, span, table } from "../table.ts";

const HEAD = ["ID", "NAME", "STATE", "IMAGE", "AGE", "EXPIRES"];
const LIVING: readonly SandboxState[] = ["requested", "provisioning", "running", "paused", "destroying"];

export function register(program: Command): void {
  program
    .command("ls")
    .description("list sandboxes")
    .option("-a, --all", "also those that are over")
    .option("-q, --quiet", "only their names, or ids where they have none")
    .option("--json", "print everything about them")
    .addHelpText("after", "\nExample:\n  $ sandboxer ls --all")
    .action(ls);
}

interface Options {
  readonly all?: true;
  readonly quiet?: true;
  readonly json?: true;
}

async function ls({ all, quiet, json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const sandboxes = await withClient(async (client) => {
    const found: Sandbox[] = [];
    const query = { limit: 200, ...(all ? {} : { states: LIVING }) };
    for await (const { info } of client.sandboxes.all(query)) found.push(info);
    return found;
  });
  if (json) process.stdout.write(`${JSON.stringify(sandboxes)}\n`);
  else if (quiet) process.stdout.write(sandboxes.map(({ id, name = id }) => `${name}\n`).join(""));
  else process.stdout.write(`${table(HEAD, sandboxes.map(row))}\n`);
  const others = all ? "" : " `sandboxer ls --all` shows those that are over.";
  if (!json && !quiet) adviseIfNone(sandboxes, `\`sandboxer create\` makes one.${others}`);
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
