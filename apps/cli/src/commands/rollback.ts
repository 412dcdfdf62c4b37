import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("rollback")
    .description("take back what a sandbox changed in its workspace, as before anything ran")
    .argument("[sandbox]", "its id or name; left out, the newest that works on this folder")
    .argument("[paths...]", "only these, relative to the workspace")
    .option("--json", "print what was done as JSON; give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer rollback build")
    .action(rollback);
}

async function rollback(
  idOrName: string | undefined,
  paths: string[],
  { json }: { json?: true },
): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { needPaths, workspaceSandbox } = await import("../workspace.ts");
  const rolledBack = await withClient(async (client) => {
    const sandbox = await workspaceSandbox(client, idOrName);
    await needPaths(sandbox, paths);
    return sandbox.workspace.rollback({ paths });
  });
  if (json) process.stdout.write(`${JSON.stringify(rolledBack)}\n`);
  process.exit(0);
}
