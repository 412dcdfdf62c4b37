import type { CreateBody, Process } from "@sandboxer/contract";
import type { Command } from "commander";
import { durationMs, variable } from "../arguments.ts";
import type { Handle } from "../connect.ts";
import { orTellWhere } from "../lost.ts";
import { addMakingOptions, type MakingOptions, madeAs, TOPICS } from "../making-options.ts";
import { whenReaderLeaves } from "../reader.ts";
import { exitCodeOf, forwardSignals, hasInput, relay } from "../relay.ts";
import { waiting } from "../waiting.ts";
import { sayWhy } from "../why.ts";

interface Options extends MakingOptions {
  readonly name?: string;
  readonly user?: string;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly timeout?: number;
  readonly ttl?: number;
  readonly tty?: true;
}

export function register(program: Command): void {
  const command = program
    .command("run")
    .description("run one command in a fresh sandbox, and take the sandbox down")
    .argument("<argv...>", "the command and its arguments")
    .option("-e, --env <NAME=value>", "a variable; NAME alone takes this shell's value", variable)
    .option("-t, --tty", "give the command this terminal, and what is typed here")
    .option("--timeout <time>", "end the command after it, with exit code 124", durationMs)
    .option("--cwd <folder>", "where to run; relative ones start at the home")
    .option("-u, --user <user>", "who runs it: a name or uid of the sandbox's /etc/passwd (default: user)")
    .option("--name <name>", "a name for the sandbox, to find what it changed in its workspace")
    .option("--ttl <time>", "the longest the sandbox lives (default: 1h)", durationMs)
    .passThroughOptions()
    .addHelpText("after", EXAMPLES)
    .action(run);
  addMakingOptions(command).optionsGroup(TOPICS.most).option("--json", "give errors as JSON");
}

async function run(argv: string[], options: Options): Promise<void> {
  const { env = {}, cwd, user, timeout, tty } = options;
  // What it writes to a folder's copy is there to be looked at, so it is not thrown away with us.
  const keeps = options.workspace !== undefined && (options.access ?? "copy-on-write") === "copy-on-write";
  const { withSandboxes } = await import("../connect.ts");
  let remote: Process | undefined;
  let stop = (_exitCode: number): void => {};
  const stopped = new Promise<number>((resolve) => {
    stop = resolve;
  });
  forwardSignals(() => remote, stop);
  whenReaderLeaves(stop);

  // Without anything to keep nobody else knows of the sandbox: killed, we take it with us.
  const exitCode = await withSandboxes(
    async (sandboxes) => {
      const sandbox = await waiting("starting a sandbox", sandboxes.create(await bodyOf(options)));
      const finished = orTellWhere(start(sandbox), sandbox, () => remote);
      // Whichever is first; the other then ends with its sandbox.
      finished.catch(() => {});
      const leave = () => (keeps ? keepChanges(sandbox, remote) : sandbox.destroy());
      const ended = await Promise.race([finished, stopped]).catch(async (error) => {
        // What went wrong first is what there is to say.
        await leave().catch(() => {});
        throw error;
      });
      await leave();
      return ended;
    },
    { tethered: !keeps },
  );
  process.exit(exitCode);

  async function start(sandbox: Handle): Promise<number> {
    const { lendTerminal, terminalSize, terminalVariables } = await import("../terminal.ts");
    const stdin = tty === true || hasInput();
    const started = await sandbox.exec({
      argv,
      env: tty ? { ...terminalVariables(), ...env } : env,
      stdin,
      ...(tty && { pty: terminalSize() }),
      ...(cwd && { cwd }),
      ...(user !== undefined && { user }),
      ...(timeout && { timeoutMs: timeout }),
    });
    remote = started;
    const exit = tty ? await lendTerminal(started) : await relay(started, stdin);
    await sayWhy(sandbox, exit);
    return exitCodeOf(exit);
  }
}

async function bodyOf(options: Options): Promise<CreateBody> {
  const { name } = options;
  return { ...(await madeAs(options)), ...(name !== undefined && { name }), ...lifetime(options) };
}

/** The sandbox stays for as long as there is something in it to look at. */
async function keepChanges(sandbox: Handle, remote: Process | undefined): Promise<void> {
  const { id, info } = sandbox;
  // Over already, unless we were told to leave.
  await remote?.signal("KILL").catch(() => {});
  // Where nobody can say, there may be some.
  const changed = await hasChanges(sandbox).catch(() => undefined);
  if (changed === false) await sandbox.destroy();
  // For a person; what a program reads stays the command's own.
  else if (changed && process.stderr.isTTY)
    process.stderr.write(`kept for now: sandboxer diff ${info.name ?? id}\n`);
}

async function hasChanges({ workspace }: Handle): Promise<boolean> {
  for await (const _ of await workspace.changes()) return true;
  return false;
}

const EXAMPLES = `
What is piped or typed here reaches the command; its output and its exit code
are all that comes back.

Examples:
  $ echo 'print(6*7)' | sandboxer run --timeout 10s -- python3 -
  $ sandboxer run -w . -- npm test       on a copy of this folder: see \`diff\`, \`apply\`
  $ sandboxer run --rules npm --memory 4G -w . -- npm install
  $ sandboxer run -t -- bash             with a terminal of its own`;

const HOUR_MS = 3_600_000;
const SLACK_MS = 60_000;

/** Long enough for the timeout to be what ends the command; otherwise the gateway's own default. */
function lifetime({ ttl, timeout = 0 }: Options): { ttlMs?: number } {
  if (ttl !== undefined) return { ttlMs: ttl };
  return timeout + SLACK_MS > HOUR_MS ? { ttlMs: timeout + SLACK_MS } : {};
}
