import { resolve } from "node:path";
import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("backup")
    .description("copy this home's keys, sandboxes, money and log into a file; a gateway may go on meanwhile")
    .argument("<file>", "where to; never over one that is there")
    .option("--json", "give errors as JSON")
    .action(backup);
  program
    .command("restore")
    .description("bring a backup back, while no gateway runs; what was there is kept beside it")
    .argument("<file>", "one that `backup` made")
    .option("--json", "give errors as JSON")
    .action(restore);
}

async function backup(file: string): Promise<void> {
  const { backupHome } = await import("@sandboxer/gateway");
  const { homeDirectory } = await import("@sandboxer/gateway/home");
  await backupHome(homeDirectory(), resolve(file));
  process.exit(0);
}

async function restore(file: string): Promise<void> {
  const { restoreHome } = await import("@sandboxer/gateway");
  const { homeDirectory } = await import("@sandboxer/gateway/home");
  restoreHome(homeDirectory(), resolve(file));
  process.exit(0);
}
