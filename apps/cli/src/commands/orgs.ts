import type { Command } from "commander";
import { span, table } from "../table.ts";

export function register(program: Command): void {
  const orgs = program.command("orgs").description("tenants that share nothing; for the operator");
  orgs
    .command("create")
    .description("make a tenant and print its root key, once")
    .argument("<name>", "its name")
    .option("--idempotency-key <key>", "asked again with the same, there is still one")
    .option("--json", "print everything about it")
    .action(create);
  orgs.command("ls").description("list them").option("--json", "print everything").action(ls);
}

async function create(name: string, options: { idempotencyKey?: string; json?: true }): Promise<void> {
  const { idempotencyKey, json } = options;
  const { withClient } = await import("../connect.ts");
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const created = await withClient((client) => client.orgs.create({ name }, once));
  process.stdout.write(`${json ? JSON.stringify(created) : created.apiKey}\n`);
  process.exit(0);
}

async function ls({ json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const found = await withClient((client) => client.orgs.list());
  const rows = found.map(({ id, name, createdAtMs }) => [id, name, span(Date.now() - createdAtMs)]);
  process.stdout.write(`${json ? JSON.stringify(found) : table(["ID", "NAME", "AGE"], rows)}\n`);
  process.exit(0);
}
