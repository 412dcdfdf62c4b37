import { type Command, InvalidArgumentError } from "commander";
import { list } from "../arguments.ts";

interface Options {
  readonly count?: number;
  readonly names?: string[];
  readonly idempotencyKey?: string;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("fork")
    .description("make new sandboxes as this one is now, and print their ids")
    .argument("<sandbox>", "its id or name")
    .option("-n, --count <count>", "how many (default: 1, or one for each name)", count)
    .option("--names <list>", "a name for each, as in left,right", list)
    .option("--idempotency-key <key>", "asked again with the same, these are still the ones")
    .option("--json", "print everything about them; give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer fork build -n 3")
    .action(fork);
}

function count(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= 100) return Number(text);
  throw new InvalidArgumentError("Give a number from 1 to 100.");
}

async function fork(idOrName: string, { count, names, idempotencyKey, json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const asked = { ...(count !== undefined && { count }), ...(names && { names }) };
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const made = await withClient(async (client) => (await client.sandboxes.get(idOrName)).fork(asked, once));
  const text = json ? JSON.stringify(made.map(({ info }) => info)) : made.map(({ id }) => id).join("\n");
  process.stdout.write(`${text}\n`);
  process.exit(0);
}
