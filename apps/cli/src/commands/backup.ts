import { resolve } from "node:path";
import type { Command } from "commander";

export function register(program: Command): void {
  const whole = program
    .command("backup")
    .description("copy this home's keys, sandboxes, money and log into a file; a gateway may go on meanwhile")
    .argument("<file>", "where to; never over one that is there")
    .option("--json", "print what was written; give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer backup /safe/monday.db")
    .action(backup);
  whole
    .command("restore")
    .description("bring a backup back, while no gateway runs; what was there is kept beside it")
    .argument("<file>", "one that `backup` made")
    .option("--json", "print what was brought back; give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer backup restore /safe/monday.db")
    .action(restore);
}

async function backup(path: string, _options: object, command: Command): Promise<void> {
  const { backupHome } = await import("@sandboxer/gateway");
  const { homeDirectory } = await import("@sandboxer/gateway/home");
  const [home, file] = [homeDirectory(), resolve(path)];
  const { needFolderOf } = await import("../host-file.ts");
  await needFolderOf(file);
  const { draftFor } = await import("../draft.ts");
  await backupHome(home, file, await draftFor(file));
  tell({ home, file }, command);
}

async function restore(path: string, _options: object, command: Command): Promise<void> {
  const { restoreHome } = await import("@sandboxer/gateway");
  const { homeDirectory } = await import("@sandboxer/gateway/home");
  const [home, file] = [homeDirectory(), resolve(path)];
  restoreHome(home, file);
  tell({ home, file }, command);
}

/** `--json` is an option of both, and the outer one takes it wherever it stands. */
function tell(done: { home: string; file: string }, command: Command): void {
  if (command.optsWithGlobals().json) process.stdout.write(`${JSON.stringify(done)}\n`);
  process.exit(0);
}
