import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("audit")
    .description("hold the log to its word")
    .command("verify", { isDefault: true })
    .description("walk the whole log and say whether it is as it was written")
    .option("--json", "print the outcome as JSON")
    .action(verify);
}

async function verify({ json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const audit = await withClient((client) => client.events.verify());
  const { events, headHash, brokenSeq } = audit;
  const text =
    brokenSeq === undefined
      ? `${events} events, unbroken; the newest is ${headHash}`
      : `broken at event ${brokenSeq}; the ${events} before it are as they were written`;
  process.stdout.write(`${json ? JSON.stringify(audit) : text}\n`);
  process.exit(brokenSeq === undefined ? 0 : 1);
}
