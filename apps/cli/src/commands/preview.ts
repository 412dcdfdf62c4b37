import type { Command } from "commander";
import { durationMs, portNumber } from "../arguments.ts";

interface Options {
  readonly ttl?: number;
  readonly path?: true;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("preview")
    .description("print an address for a port inside a sandbox, for a browser")
    .argument("<sandbox>", "its id or name")
    .argument("<port>", "the port inside", portNumber)
    .option("--ttl <time>", "how long the address is good for (default: 1h)", durationMs)
    .option("--path", "the address for programs, below the gateway's own")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer preview build 3000")
    .action(preview);
}

async function preview(idOrName: string, port: number, { ttl, path, json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const made = await withClient(async (client) =>
    (await client.sandboxes.get(idOrName)).preview(port, ttl === undefined ? {} : { ttlMs: ttl }),
  );
  process.stdout.write(`${json ? JSON.stringify(made) : path ? made.pathUrl : made.url}\n`);
  process.exit(0);
}
