import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("whoami")
    .description("say whose key this is, and what is left to it after every link of its chain")
    .option("--json", "print everything")
    .addHelpText("after", "\nExample:\n  $ sandboxer whoami")
    .action(whoami);
}

async function whoami({ json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const who = await withClient((client) => client.whoami());
  const { principalId, orgId, keyId, team, trust, rights } = who;
  const { operations, ...limits } = rights;
  const lines = [
    `principal   ${principalId}${team ? ` of ${team}` : ""}${trust ? `, ${trust}` : ""}`,
    `org         ${orgId}`,
    `key         ${keyId}`,
    `operations  ${operations?.join(", ") ?? "all"}`,
    ...Object.entries(limits).map(([name, limit]) => `limit       ${name} ${JSON.stringify(limit)}`),
  ];
  process.stdout.write(`${json ? JSON.stringify(who) : lines.join("\n")}\n`);
  process.exit(0);
}
