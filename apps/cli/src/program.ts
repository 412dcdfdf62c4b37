import { Command, CommanderError } from "commander";

/** What every file in commands/ gives: it adds itself to the program. */
interface CommandModule {
  register(program: Command): void;
}

/** Loaded by need: a command line names one command and pays for that one. */
const COMMANDS: Readonly<Record<string, () => Promise<CommandModule>>> = {
  up: () => import("./commands/up.ts"),
  run: () => import("./commands/run.ts"),
  create: () => import("./commands/create.ts"),
  exec: () => import("./commands/exec.ts"),
  shell: () => import("./commands/shell.ts"),
  ps: () => import("./commands/ps.ts"),
  logs: () => import("./commands/logs.ts"),
  forward: () => import("./commands/forward.ts"),
  preview: () => import("./commands/preview.ts"),
  cp: () => import("./commands/cp.ts"),
  diff: () => import("./commands/diff.ts"),
  apply: () => import("./commands/apply.ts"),
  rollback: () => import("./commands/rollback.ts"),
  snapshot: () => import("./commands/snapshot.ts"),
  snapshots: () => import("./commands/snapshots.ts"),
  fork: () => import("./commands/fork.ts"),
  ls: () => import("./commands/ls.ts"),
  pause: () => import("./commands/pause.ts"),
  resume: () => import("./commands/resume.ts"),
  stats: () => import("./commands/stats.ts"),
  rm: () => import("./commands/rm.ts"),
  attach: () => import("./commands/attach.ts"),
  attachments: () => import("./commands/attach.ts"),
  detach: () => import("./commands/attach.ts"),
  extend: () => import("./commands/extend.ts"),
  budget: () => import("./commands/budget.ts"),
  profiles: () => import("./commands/profiles.ts"),
  route: () => import("./commands/route.ts"),
  receipt: () => import("./commands/receipt.ts"),
  events: () => import("./commands/events.ts"),
  audit: () => import("./commands/audit.ts"),
  webhooks: () => import("./commands/webhooks.ts"),
  backup: () => import("./commands/backup.ts"),
  keys: () => import("./commands/keys.ts"),
  doctor: () => import("./commands/doctor.ts"),
};

/** Misuse of the command line; `invalid_request` has the same in the error table. */
const USAGE_EXIT_CODE = 2;

export async function runProgram(
  args: readonly string[],
  { version, asJson }: { version: string; asJson: boolean },
): Promise<void> {
  const program = new Command("sandboxer")
    .description("An isolated place to run code, in one command.")
    .version(version, "-v, --version")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ writeErr: (text) => asJson || process.stderr.write(text) })
    .addHelpText("after", EXAMPLES);
  const named = COMMANDS[args[0] ?? ""];
  const wanted = named ? [named] : Object.values(COMMANDS);
  const modules = new Set(await Promise.all(wanted.map((load) => load())));
  for (const module of modules) module.register(program);
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) process.exit(0);
    if (!asJson) process.exit(USAGE_EXIT_CODE);
    const { SandboxerError } = await import("@sandboxer/contract");
    throw new SandboxerError("invalid_request", error.message.replace(/^error: /, ""));
  }
}

const EXAMPLES = `
Examples:
  $ sandboxer run -- echo hello          run one command in a fresh sandbox
  $ sandboxer up                         start the gateway for SDKs and agents
  $ id=$(sandboxer create --ttl 30m)     keep a sandbox for longer
  $ sandboxer exec $id -- python3 -V     and use it

Environment:
  SANDBOXER_HOME     where this installation keeps everything (~/.sandboxer)
  SANDBOXER_URL      a gateway elsewhere; left out, the one of this home, or none at all
  SANDBOXER_API_KEY  the key to use; left out, the one in this home`;
