import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("sync")
    .description("bring a mirror and its folder to the same, as happens around each command")
    .argument("[sandbox]", "its id or name; left out, the newest that mirrors this folder")
    .option("--json", "print what was done as JSON; give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer sync build")
    .action(sync);
}

async function sync(idOrName: string | undefined, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { workspaceSandbox } = await import("../workspace.ts");
  const { printable } = await import("../printable.ts");
  const synced = await withClient(async (client) =>
    (await workspaceSandbox(client, idOrName, "mirror")).workspace.sync(),
  );
  if (json) process.stdout.write(`${JSON.stringify(synced)}\n`);
  else {
    for (const path of synced.pulled) process.stdout.write(`${printable(path)}\n`);
    for (const { path, keptAs } of synced.kept) {
      process.stderr.write(
        `both changed ${printable(path)}: the sandbox's is kept as ${printable(keptAs)}\n`,
      );
    }
    for (const { path, why } of synced.heldBack) {
      process.stderr.write(`stays inside: ${printable(path)}: ${why}\n`);
    }
  }
  process.exit(0);
}
