import type { Volume } from "@sandboxer/contract";
import type { Command } from "commander";
import { adviseIfNone, span, table } from "../table.ts";

export function register(program: Command): void {
  const volumes = program
    .command("volumes")
    .description("keep files that outlive every sandbox that works on them");
  volumes
    .command("create")
    .description("make one, and print its id")
    .argument("<name>", "its name")
    .option("--idempotency-key <key>", "asked again with the same, there is still one")
    .option("--json", "print everything about it; give errors as JSON")
    .addHelpText(
      "after",
      "\nExample:\n  $ sandboxer volumes create cache\n  $ sandboxer create --volume cache:/home/user/.cache",
    )
    .action(create);
  volumes
    .command("ls", { isDefault: true })
    .description("list them")
    .option("--json", "print everything")
    .action(ls);
  volumes
    .command("rm")
    .description("delete one with everything in it; not while a living sandbox works on it")
    .argument("<volume>", "its id or name")
    .option("--json", "print what it was; give errors as JSON")
    .action(remove);
}

interface Options {
  readonly idempotencyKey?: string;
  readonly json?: true;
}

async function create(name: string, { idempotencyKey, json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const volume = await withClient((client) => client.volumes.create({ name }, once));
  say(json ? JSON.stringify(volume) : volume.id);
}

async function ls({ json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const all = await withClient((client) => client.volumes.list());
  const row = ({ id, name, principalId, createdAtMs }: Volume) => [
    id,
    name,
    principalId,
    span(Date.now() - createdAtMs),
  ];
  if (!json) adviseIfNone(all, "`sandboxer volumes create` makes one.");
  say(json ? JSON.stringify(all) : table(["ID", "NAME", "OWNER", "AGE"], all.map(row)));
}

async function remove(idOrName: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const volume = await withClient(async (client) => {
    const found = await client.volumes.get(idOrName);
    await client.volumes.delete(found.id);
    return found;
  });
  say(json ? JSON.stringify(volume) : idOrName);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
  process.exit(0);
}
