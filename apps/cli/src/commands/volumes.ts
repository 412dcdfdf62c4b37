import type { Volume } from "@sandboxer/contract";
import type { Command } from "commander";
import { span, table } from "../table.ts";

interface Options {
  readonly json?: true;
}

export function register(program: Command): void {
  const volumes = program
    .command("volumes")
    .description("make, list and delete files that outlive every sandbox that works on them");
  volumes
    .command("ls")
    .description("list this key's and those of keys derived from it, the oldest first")
    .option("--json", "print everything about them")
    .action(ls);
  volumes
    .command("create")
    .description("make an empty one")
    .argument("<name>", "its name, as in data")
    .option("--json", "print everything about it")
    .addHelpText("after", EXAMPLE)
    .action(create);
  volumes
    .command("rm")
    .description("delete one with everything in it; not while living sandboxes work on it")
    .argument("<volume>", "its id or name")
    .option("--json", "print what it was; give errors as JSON")
    .action(rm);
}

const EXAMPLE = `
Example:
  $ sandboxer volumes create data
  $ curl -H "X-API-KEY: $KEY" $URL/v1/sandboxes -d '{"volumes": [{"volume": "data", "target": "/mnt/data"}]}'`;

async function ls({ json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const all = await withClient((client) => client.volumes.list());
  const row = ({ id, name, createdAtMs }: Volume) => [id, name, span(Date.now() - createdAtMs)];
  process.stdout.write(`${json ? JSON.stringify(all) : table(["ID", "NAME", "AGE"], all.map(row))}\n`);
  process.exit(0);
}

async function create(name: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const volume = await withClient((client) => client.volumes.create({ name }));
  process.stdout.write(`${json ? JSON.stringify(volume) : volume.id}\n`);
  process.exit(0);
}

async function rm(idOrName: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const volume = await withClient(async ({ volumes }) => {
    const found = await volumes.get(idOrName);
    await volumes.delete(found.id);
    return found;
  });
  process.stdout.write(`${json ? JSON.stringify(volume) : volume.id}\n`);
  process.exit(0);
}
