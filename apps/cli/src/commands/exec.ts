import type { Process } from "@sandboxer/contract";
import type { Command } from "commander";
import { durationMs, variable } from "../arguments.ts";
import { exitCodeOf, forwardSignals, hasInput, relay, whenReaderLeaves } from "../relay.ts";

interface Options {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly user?: string;
  readonly timeout?: number;
}

export function register(program: Command): void {
  program
    .command("exec")
    .description("run a command in a sandbox that is there")
    .argument("<sandbox>", "its id or name")
    .argument("<argv...>", "the command and its arguments")
    .option("-e, --env <NAME=value>", "a variable; NAME alone takes this shell's value", variable)
    .option("--cwd <folder>", "where to run; relative ones start at the home")
    .option("-u, --user <user>", "who runs it, by name or uid (default: user)")
    .option("--timeout <time>", "end the command after it, with exit code 124", durationMs)
    .option("--json", "give errors as JSON")
    .showHelpAfterError("(options of the command itself go after --, as in: sandboxer exec build -- ls -la)")
    .addHelpText("after", "\nExample:\n  $ sandboxer exec build --cwd /tmp -- sh -c 'ls -la'")
    .action(exec);
}

async function exec(
  idOrName: string,
  argv: string[],
  { env = {}, cwd, user, timeout }: Options,
): Promise<void> {
  const { withSandboxes } = await import("../connect.ts");
  let remote: Process | undefined;
  // Left running, it would go on without anybody to read it or to end it.
  const abandon = (exitCode: number) => {
    const killed = remote?.signal("KILL").catch(() => {}) ?? Promise.resolve();
    void killed.finally(() => process.exit(exitCode));
  };
  forwardSignals(() => remote, abandon);
  whenReaderLeaves(abandon);
  const exit = await withSandboxes(async (sandboxes) => {
    const stdin = hasInput();
    const sandbox = await sandboxes.get(idOrName);
    remote = await sandbox.exec({
      argv,
      env,
      stdin,
      ...(cwd && { cwd }),
      ...(user !== undefined && { user }),
      ...(timeout && { timeoutMs: timeout }),
    });
    return relay(remote, stdin);
  });
  process.exit(exitCodeOf(exit));
}
