import type { Command } from "commander";
import { printable } from "../printable.ts";

interface Options {
  readonly force?: true;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("apply")
    .description("bring what a sandbox changed in its workspace to this machine, all or nothing")
    .argument("[sandbox]", "its id or name; left out, the newest that works on this folder")
    .argument("[paths...]", "only these, relative to the workspace")
    .option("--force", "overwrite what has changed on this machine meanwhile")
    .option("--json", "print what was done as JSON; give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer diff build && sandboxer apply build src")
    .action(apply);
}

async function apply(idOrName: string | undefined, paths: string[], { force, json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { needPaths, workspaceSandbox } = await import("../workspace.ts");
  const applied = await withClient(async (client) => {
    const sandbox = await workspaceSandbox(client, idOrName);
    await needPaths(sandbox, paths);
    return sandbox.workspace.apply({ paths, ...(force && { force }) });
  });
  const lines = json ? [JSON.stringify(applied)] : applied.paths.map(printable);
  for (const line of lines) process.stdout.write(`${line}\n`);
  for (const { path, why } of json ? [] : applied.heldBack) {
    process.stderr.write(`not applied, name it if you mean it: ${printable(path)} (${why})\n`);
  }
  if (!json && applied.applied === 0 && applied.heldBack.length === 0) {
    process.stderr.write("nothing to apply: the folder has what was changed inside\n");
  }
  process.exit(0);
}
