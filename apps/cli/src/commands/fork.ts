import { type Command, InvalidArgumentError } from "commander";

export function register(program: Command): void {
  program
    .command("fork")
    .description("make new sandboxes as this one is now, and print their ids")
    .argument("<sandbox>", "its id or name")
    .option("-n, --count <count>", "how many (default: 1)", count)
    .option("--json", "print everything about them; give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer fork build -n 3")
    .action(fork);
}

function count(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= 100) return Number(text);
  throw new InvalidArgumentError("Give a number from 1 to 100.");
}

async function fork(idOrName: string, { count = 1, json }: { count?: number; json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const made = await withClient(async (client) => (await client.sandboxes.get(idOrName)).fork(count));
  const text = json ? JSON.stringify(made.map(({ info }) => info)) : made.map(({ id }) => id).join("\n");
  process.stdout.write(`${text}\n`);
  process.exit(0);
}
