import type { Event } from "@sandboxer/contract";
import type { Command } from "commander";
import { printable } from "../printable.ts";

interface Options {
  readonly follow?: true;
  readonly after?: string;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("events")
    .description("read the log of everything that happened")
    .option("-f, --follow", "go on as more happens")
    .option("--after <seq>", "only what came after this number")
    .option("--json", "one JSON object a line")
    .addHelpText("after", "\nExample:\n  $ sandboxer events --follow --after 120")
    .action(events);
}

async function events({ follow, after, json }: Options): Promise<void> {
  const { SandboxerError } = await import("@sandboxer/contract");
  if (after !== undefined && !/^\d{1,15}$/.test(after)) {
    throw new SandboxerError("invalid_request", "--after takes the number of an event");
  }
  const { withClient } = await import("../connect.ts");
  process.on("SIGINT", () => process.exit(130));
  const say = (event: Event) => process.stdout.write(`${json ? JSON.stringify(event) : line(event)}\n`);
  await withClient(async (client) => {
    let seq = Number(after ?? 0);
    if (follow) for await (const event of client.events.follow({ after: seq })) say(event);
    for (;;) {
      const page = await client.events.list({ after: seq, limit: 500 });
      for (const event of page) say(event);
      const last = page.at(-1);
      if (!last) return;
      seq = last.seq;
    }
  });
  process.exit(0);
}

function line({ seq, atMs, type, sandboxId = "", principalId = "" }: Event): string {
  return printable(
    `${seq}  ${new Date(atMs).toISOString()}  ${type}  ${sandboxId}  ${principalId}`,
  ).trimEnd();
}
