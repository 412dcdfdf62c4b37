import type { Point, Points, RollbackOptions, RolledBack } from "@sandboxer/contract";
import { type Command, InvalidArgumentError, Option } from "commander";
import { adviseIfNone, span, table } from "../table.ts";

export function register(program: Command): void {
  program
    .command("rollback")
    .description("take back what a sandbox changed in its workspace: all of it, or from a run on")
    .argument("[sandbox]", "its id or name; left out, the newest that works on this folder")
    .argument("[paths...]", "only these, relative to the workspace")
    .option("--list", "show before which runs it can go, and what each of them changed")
    .option("--last", "to before the last run that changed something")
    .addOption(
      new Option("--to <point>", "to before this run, by its number in --list")
        .conflicts("last")
        .argParser(numberOf),
    )
    .option("--json", "print what was done as JSON; give errors as JSON")
    .addHelpText(
      "after",
      "\nWithout --last and --to it goes to before anything ran. What is taken back is gone.\n\nExamples:\n  $ sandboxer rollback build --list\n  $ sandboxer rollback build --last\n  $ sandboxer rollback build --to 3\n  $ sandboxer rollback build",
    )
    .action(rollback);
}

interface Options {
  readonly list?: true;
  readonly last?: true;
  readonly to?: number;
  readonly json?: true;
}

async function rollback(idOrName: string | undefined, paths: string[], options: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { needPaths, workspaceSandbox } = await import("../workspace.ts");
  const { list, last, to = last && "last", json } = options;
  const told = await withClient(async (client) => {
    const sandbox = await workspaceSandbox(client, idOrName);
    if (list) return sandbox.workspace.points();
    // At a point there may be what is neither here now nor on the host.
    if (to === undefined) await needPaths(sandbox, paths);
    const asked: RollbackOptions = { paths, ...(to !== undefined && { to }) };
    return sandbox.workspace.rollback(asked);
  });
  if (json) process.stdout.write(`${JSON.stringify(told)}\n`);
  else process.stdout.write(`${"points" in told ? shown(told) : inWords(told)}\n`);
  if (!json && "points" in told) adviseIfNone(told.points, "each run that changes something leaves one.");
  process.exit(0);
}

function inWords({ restored }: RolledBack): string {
  if (restored === 0) return "nothing to take back: it is as it was then";
  return `took back ${restored} ${restored === 1 ? "change" : "changes"}`;
}

function shown({ points }: Points): string {
  return table(["POINT", "BEFORE", "AGE", "CHANGED", "COPIED"], points.map(row));
}

function row({ point, argv, atMs, changed, bytes, missing }: Point): string[] {
  const command = argv.join(" ").replaceAll(/\s+/g, " ");
  const short = command.length > 60 ? `${command.slice(0, 59)}…` : command;
  const copied = missing ?? `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return [
    String(point),
    short,
    span(Date.now() - atMs),
    changed === undefined ? "" : String(changed),
    copied,
  ];
}

function numberOf(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number > 0 && Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError("Give a point's number, as `--list` shows it.");
}
