import type { CreateWebhookBody } from "@sandboxer/contract";
import type { Command } from "commander";
import { list } from "../arguments.ts";
import { adviseIfNone, table } from "../table.ts";

export function register(program: Command): void {
  const webhooks = program.command("webhooks").description("tell others of every event, signed");
  webhooks
    .command("create")
    .description("send every event there from now on; the signing secret is printed once")
    .argument("<url>", "https, on the open internet")
    .option("--name <name>", "a name, for you")
    .option("--idempotency-key <key>", "asked again with the same, there is still one")
    .option("--types <list>", "only these, as in sandbox.created,sandbox.destroyed", list)
    .option("--json", "print everything about it")
    .action(create);
  webhooks
    .command("ls", { isDefault: true })
    .description("list them and how they fare")
    .option("--json", "print everything")
    .action(ls);
  webhooks
    .command("rm")
    .description("send nothing there any more")
    .argument("<webhook>", "its id")
    .option("--json", "print its id as JSON; give errors as JSON")
    .action(rm);
}

interface Options {
  readonly types?: string[];
  readonly name?: string;
  readonly idempotencyKey?: string;
  readonly json?: true;
}

async function create(url: string, { types, name, idempotencyKey, json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const body = { url, ...(name && { name }), ...(types && { types }) } as CreateWebhookBody;
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const created = await withClient((client) => client.webhooks.create(body, once));
  process.stdout.write(`${json ? JSON.stringify(created) : `${created.webhook.id} ${created.secret}`}\n`);
  process.exit(0);
}

async function ls({ json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const found = await withClient((client) => client.webhooks.list());
  const rows = found.map(({ id, url, cursorSeq, attempts, disabledAtMs, lastError = "" }) => [
    id,
    url,
    disabledAtMs === undefined ? (attempts > 0 ? `failed ${attempts} times` : "well") : "disabled",
    `${cursorSeq}`,
    lastError,
  ]);
  const text = json ? JSON.stringify(found) : table(["ID", "URL", "STATE", "UP TO", "LAST ERROR"], rows);
  process.stdout.write(`${text}\n`);
  if (!json) adviseIfNone(found, "`sandboxer webhooks create` makes one.");
  process.exit(0);
}

async function rm(id: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  await withClient((client) => client.webhooks.delete(id));
  process.stdout.write(`${json ? JSON.stringify({ id }) : id}\n`);
  process.exit(0);
}
