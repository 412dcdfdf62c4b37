import type { Client, Sandbox } from "@sandboxer/sdk";
import type { Command } from "commander";
import { waiting } from "../waiting.ts";

interface Options {
  readonly all?: true;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("rm")
    .description("destroy sandboxes, and everything in them")
    .argument("[sandbox...]", "their ids or names")
    .option("-a, --all", "every one that lives")
    .option("--json", "print what became of them; give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer rm build")
    .action(rm);
}

async function rm(names: string[], { all, json = false }: Options): Promise<void> {
  const { SandboxerError } = await import("@sandboxer/contract");
  if (Boolean(all) === names.length > 0) {
    throw new SandboxerError("invalid_request", "name the sandboxes to destroy, or give --all", {
      hint: "`sandboxer ls` shows them.",
    });
  }
  const { livingOf, withClient } = await import("../connect.ts");
  const { withMeant } = await import("../meant.ts");
  const work = withClient(async (client) => {
    const find = (name: string) =>
      withMeant(
        () => client.sandboxes.get(name),
        () => livingOf(client),
      );
    if (!all) return Promise.all(names.map((name) => remove(find(name), name, json)));
    const every = await living(client);
    return Promise.all(every.map((one) => remove(Promise.resolve(one), one.info.name ?? one.id, json)));
  });
  // Said afterwards and in order, so that it does not land on the line that says what is waited for.
  const exitCodes = (await waiting("ending them", work)).map((say) => say());
  process.exit(exitCodes.find((code) => code !== 0) ?? 0);
}

/** What is to be said of it, and the exit code that goes with that. */
async function remove(found: Promise<Sandbox>, name: string, json: boolean): Promise<() => number> {
  try {
    const info = await (await found).destroy();
    return () => {
      process.stdout.write(`${json ? JSON.stringify(info) : name}\n`);
      return 0;
    };
  } catch (error) {
    const { report } = await import("../report.ts");
    return () => report(error, json);
  }
}

async function living(client: Client): Promise<Sandbox[]> {
  const found: Sandbox[] = [];
  const query = { states: ["provisioning", "running", "paused"], limit: 200 } as const;
  for await (const sandbox of client.sandboxes.all(query)) found.push(sandbox);
  return found;
}
