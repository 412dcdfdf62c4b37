import { Command, CommanderError } from "commander";
import { completeHelp } from "./help.ts";
import { separated } from "./separate.ts";

/** What every file in commands/ gives: it adds itself to the program. */
interface CommandModule {
  register(program: Command): void;
}

type Commands = Readonly<Record<string, () => Promise<CommandModule>>>;

/** Loaded by need: a command line names one command and pays for that one. Each under its heading. */
const GROUPS: Readonly<Record<string, Commands>> = {
  "Sandboxes:": {
    run: () => import("./commands/run.ts"),
    create: () => import("./commands/create.ts"),
    ls: () => import("./commands/ls.ts"),
    inspect: () => import("./commands/inspect.ts"),
    pause: () => import("./commands/pause.ts"),
    resume: () => import("./commands/resume.ts"),
    stop: () => import("./commands/stop.ts"),
    start: () => import("./commands/start.ts"),
    extend: () => import("./commands/extend.ts"),
    recreate: () => import("./commands/recreate.ts"),
    reach: () => import("./commands/reach.ts"),
    net: () => import("./commands/net.ts"),
    elevate: () => import("./commands/elevate.ts"),
    stats: () => import("./commands/stats.ts"),
    receipt: () => import("./commands/receipt.ts"),
    rm: () => import("./commands/rm.ts"),
  },
  "Inside a sandbox:": {
    exec: () => import("./commands/exec.ts"),
    shell: () => import("./commands/shell.ts"),
    ps: () => import("./commands/ps.ts"),
    logs: () => import("./commands/logs.ts"),
    kill: () => import("./commands/kill.ts"),
    cp: () => import("./commands/cp.ts"),
    forward: () => import("./commands/forward.ts"),
    preview: () => import("./commands/preview.ts"),
  },
  "Its files:": {
    diff: () => import("./commands/diff.ts"),
    apply: () => import("./commands/apply.ts"),
    rollback: () => import("./commands/rollback.ts"),
    sync: () => import("./commands/sync.ts"),
  },
  "Copies of one:": {
    snapshot: () => import("./commands/snapshot.ts"),
    snapshots: () => import("./commands/snapshots.ts"),
    restore: () => import("./commands/restore.ts"),
    fork: () => import("./commands/fork.ts"),
    volumes: () => import("./commands/volumes.ts"),
  },
  "Sharing one:": {
    attach: () => import("./commands/attach.ts"),
    attachments: () => import("./commands/attach.ts"),
    detach: () => import("./commands/attach.ts"),
  },
  "This installation:": {
    up: () => import("./commands/up.ts"),
    images: () => import("./commands/images.ts"),
    doctor: () => import("./commands/doctor.ts"),
    store: () => import("./commands/store.ts"),
    orgs: () => import("./commands/orgs.ts"),
    keys: () => import("./commands/keys.ts"),
    whoami: () => import("./commands/whoami.ts"),
    secrets: () => import("./commands/secrets.ts"),
    approvals: () => import("./commands/approvals.ts"),
    budget: () => import("./commands/budget.ts"),
    profiles: () => import("./commands/profiles.ts"),
    route: () => import("./commands/route.ts"),
    events: () => import("./commands/events.ts"),
    audit: () => import("./commands/audit.ts"),
    webhooks: () => import("./commands/webhooks.ts"),
    backup: () => import("./commands/backup.ts"),
    env: () => import("./commands/env.ts"),
    completion: () => import("./commands/completion.ts"),
  },
};

const COMMANDS: Commands = Object.assign({}, ...Object.values(GROUPS));

function headingOf(name: string): string {
  return Object.keys(GROUPS).find((heading) => name in (GROUPS[heading] ?? {})) ?? "Others:";
}

/** With all of its commands, or with these. */
export async function buildProgram(
  version: string,
  wanted: readonly (() => Promise<CommandModule>)[] = Object.values(COMMANDS),
): Promise<Command> {
  const program = new Command("sandboxer")
    .description("An isolated place to run code, in one command.")
    .version(version, "-v, --version")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .configureHelp({ minWidthToWrap: NARROWEST })
    .exitOverride()
    // Said by whoever runs the program, as everything else that goes wrong is.
    .configureOutput({ outputError() {} })
    .addHelpText("after", EXAMPLES);
  const modules = new Set(await Promise.all(wanted.map((load) => load())));
  for (const module of modules) module.register(program);
  completeHelp(program);
  for (const command of program.commands) command.helpGroup(headingOf(command.name()));
  return program;
}

/** What is said of an option is wrapped where it has so many columns; half a terminal has. */
const NARROWEST = 24;

/** Nothing was named: what there is has been shown instead. `invalid_request` has the same in the error table. */
const USAGE_EXIT_CODE = 2;

export async function runProgram(args: readonly string[], version: string): Promise<void> {
  // What completes words must know them all.
  const named = args[0] === "completion" ? undefined : COMMANDS[args[0] ?? ""];
  const program = await buildProgram(version, named && [named]);
  try {
    // A command without others below it takes every word as its own.
    if (!named || program.commands.some(({ commands }) => commands.length > 0)) {
      (await import("./mistakes.ts")).refuseUnknownWord(program, args);
    }
    await program.parseAsync(wordsFor(program, args), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) process.exit(0);
    if (error.code === "commander.help") process.exit(USAGE_EXIT_CODE);
    const { asOurs } = await import("./mistakes.ts");
    throw asOurs(error, program, args);
  }
}

function wordsFor(program: Command, args: readonly string[]): string[] {
  const exec = args[0] === "exec" ? program.commands.find((one) => one.name() === "exec") : undefined;
  return exec ? ["exec", ...separated(args.slice(1), exec, 1)] : [...args];
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
