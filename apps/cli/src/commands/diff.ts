import { once } from "node:events";
import type { WorkspaceChange } from "@sandboxer/contract";
import type { Command } from "commander";

interface Options {
  readonly stat?: true;
  readonly json?: true;
  readonly binary?: true;
}

export function register(program: Command): void {
  program
    .command("diff")
    .description("show what a sandbox changed in its copy-on-write workspace")
    .argument("[sandbox]", "its id or name; left out, the newest that works on this folder")
    .argument("[paths...]", "only these, relative to the workspace")
    .option("--stat", "one line for each change")
    .option("--binary", "put files without lines into the patch whole, as git does")
    .option("--json", "one JSON object for each change; give errors as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  $ sandboxer diff build --binary | git apply\n  $ sandboxer diff build --stat src",
    )
    .action(diff);
}

async function diff(
  idOrName: string | undefined,
  paths: string[],
  { stat, json, binary }: Options,
): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { forTerminal, patchOf, summaryOf } = await import("../patch.ts");
  const { gitPatchOf, noteOf } = await import("../git-patch.ts");
  const { needPaths, workspaceSandbox } = await import("../workspace.ts");
  await withClient(async (client) => {
    const sandbox = await workspaceSandbox(client, idOrName);
    await needPaths(sandbox, paths);
    const detail = stat ? "counts" : "patch";
    // Who reads along sees everything; a program gets what git takes.
    const isForGit = binary || !process.stdout.isTTY;
    const leftOut: string[] = [];
    const shown = (change: WorkspaceChange) =>
      isForGit ? gitPatchOf(sandbox, change, { binary: binary ?? false, leftOut }) : readable(change);
    // Git knows no folder, so a patch is silent about one.
    const readable = (change: WorkspaceChange) => patchOf(change) || `${summaryOf(change)}\n`;
    for await (const change of await sandbox.workspace.changes({ paths, detail })) {
      const text = json
        ? `${JSON.stringify(change)}\n`
        : forTerminal(stat ? `${summaryOf(change)}\n` : await shown(change));
      if (text && !process.stdout.write(text)) await once(process.stdout, "drain");
    }
    if (leftOut.length > 0) process.stderr.write(`${noteOf(leftOut)}\n`);
  });
  process.exit(0);
}
