import type { Exit, Process } from "@sandboxer/contract";
import type { Command } from "commander";
import { durationMs, variable } from "../arguments.ts";
import type { Handle } from "../connect.ts";
import { orTellWhere } from "../lost.ts";
import { whenReaderLeaves } from "../reader.ts";
import { exitCodeOf, forwardSignals, hasInput, relay } from "../relay.ts";
import { sayWhy } from "../why.ts";

interface Options {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly user?: string;
  readonly timeout?: number;
  readonly tty?: true;
  readonly detach?: true;
  readonly as?: string;
}

export function register(program: Command): void {
  program
    .command("exec")
    .description("run a command in a sandbox that is there")
    .argument("<sandbox>", "its id or name")
    .argument("<argv...>", "the command and its arguments")
    .option("-e, --env <NAME=value>", "a variable; NAME alone takes this shell's value", variable)
    .option("--cwd <folder>", "where to run; relative ones start at the home")
    .option("-u, --user <user>", "who runs it: a name or uid of the sandbox's /etc/passwd (default: user)")
    .option("--timeout <time>", "end the command after it, with exit code 124", durationMs)
    .option("-t, --tty", "give the command this terminal, and what is typed here")
    .option("-d, --detach", "leave it running and print its process id")
    .option("--as <attachment>", "act through this attachment, as in att_…")
    .option("--json", "give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer exec build --cwd /tmp -- sh -c 'ls -la'")
    .action(exec);
}

async function exec(idOrName: string, argv: string[], options: Options): Promise<void> {
  const { env = {}, cwd, user, timeout, tty, detach } = options;
  const { withSandboxes } = await import("../connect.ts");
  const terminal = await import("../terminal.ts");
  let remote: Process | undefined;
  // Left running, it would go on without anybody to read it or to end it.
  const abandon = (exitCode: number) => {
    const killed = remote?.signal("KILL").catch(() => {}) ?? Promise.resolve();
    void killed.finally(() => process.exit(exitCode));
  };
  forwardSignals(() => remote, abandon);
  whenReaderLeaves(abandon);
  const exitCode = await withSandboxes(async (sandboxes) => {
    const sandbox = await sandboxes.get(idOrName);
    const acting = options.as === undefined ? sandbox : sandbox.through(options.as);
    if (detach) return leave(acting);
    const exit = await orTellWhere(stay(acting), sandbox, () => remote);
    await sayWhy(sandbox, exit);
    return exitCodeOf(exit);
  });
  process.exit(exitCode);

  function start(sandbox: Pick<Handle, "exec">, stdin: boolean) {
    return sandbox.exec({
      argv,
      env: tty ? { ...terminal.terminalVariables(), ...env } : env,
      stdin,
      ...(tty && { pty: terminal.terminalSize() }),
      ...(cwd && { cwd }),
      ...(user !== undefined && { user }),
      ...(timeout && { timeoutMs: timeout }),
    });
  }

  async function leave(sandbox: Pick<Handle, "exec">): Promise<number> {
    const started = await start(sandbox, false);
    started.detach();
    process.stdout.write(`${started.id}\n`);
    return 0;
  }

  async function stay(sandbox: Pick<Handle, "exec">): Promise<Exit> {
    const stdin = tty === true || hasInput();
    const started = await start(sandbox, stdin);
    remote = started;
    return tty ? terminal.lendTerminal(started) : relay(started, stdin);
  }
}
