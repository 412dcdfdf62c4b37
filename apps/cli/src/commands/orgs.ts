import type { IsolationClass } from "@sandboxer/contract";
import type { Command } from "commander";
import { durationMs, list, microUsd } from "../arguments.ts";
import { adviseIfNone, span, table } from "../table.ts";

export function register(program: Command): void {
  const orgs = program.command("orgs").description("tenants that share nothing; for the operator");
  orgs
    .command("create")
    .description("make a tenant and print its root key, once")
    .argument("<name>", "its name")
    .option("--extensions <list>", "where its sandboxes may run", list)
    .option("--profiles <list>", "which profiles it may use", list)
    .option("--isolation <class>", "the least isolation it may use")
    .option("--max-ttl <time>", "the longest its sandboxes may live", durationMs)
    .option("--budget <usd>", "what it may spend in all; only the operator changes it", microUsd)
    .option("--idempotency-key <key>", "asked again with the same, there is still one")
    .option("--json", "print everything about it")
    .action(create);
  orgs
    .command("ls", { isDefault: true })
    .description("list them")
    .option("--json", "print everything")
    .action(ls);
}

interface Options {
  readonly extensions?: string[];
  readonly profiles?: string[];
  readonly isolation?: IsolationClass;
  readonly maxTtl?: number;
  readonly budget?: number;
  readonly idempotencyKey?: string;
  readonly json?: true;
}

async function create(name: string, options: Options): Promise<void> {
  const { idempotencyKey, json, isolation, maxTtl, budget, ...lists } = options;
  const { withClient } = await import("../connect.ts");
  const body = {
    name,
    ...lists,
    ...(isolation && { minimumIsolation: isolation }),
    ...(maxTtl && { maximumTtlMs: maxTtl }),
    ...(budget !== undefined && { budgetMicroUsd: budget }),
  };
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const created = await withClient((client) => client.orgs.create(body, once));
  process.stdout.write(`${json ? JSON.stringify(created) : created.apiKey}\n`);
  process.exit(0);
}

async function ls({ json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const found = await withClient((client) => client.orgs.list());
  const rows = found.map(({ id, name, createdAtMs }) => [id, name, span(Date.now() - createdAtMs)]);
  process.stdout.write(`${json ? JSON.stringify(found) : table(["ID", "NAME", "AGE"], rows)}\n`);
  if (!json) adviseIfNone(found, "`sandboxer orgs create` makes one.");
  process.exit(0);
}
