import type { Client, Sandbox } from "@sandboxer/sdk";
import type { Command } from "commander";
import { durationMs } from "../arguments.ts";
import { orTellWhere } from "../lost.ts";
import { whenReaderLeaves } from "../reader.ts";
import { exitCodeOf, forwardSignals } from "../relay.ts";
import { shellIn } from "../shell-script.ts";
import { waiting } from "../waiting.ts";

interface Options {
  readonly user?: string;
  readonly cwd?: string;
  readonly ttl?: number;
  readonly profile?: string;
}

export function register(program: Command): void {
  program
    .command("shell")
    .description("open a shell in a sandbox, or in a fresh one that goes when you leave")
    .argument("[sandbox]", "its id or name; left out, a fresh one")
    .option("--cwd <folder>", "where to start; relative ones start at the home")
    .option("-u, --user <user>", "whose shell: a name or uid of the sandbox's /etc/passwd (default: user)")
    .option("--profile <ref>", "what a fresh one is to be, as in python or python@2")
    .option("--ttl <time>", "the longest a fresh sandbox lives (default: 1h)", durationMs)
    .option("--json", "give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer shell build")
    .action(shell);
}

async function shell(idOrName: string | undefined, { user, cwd, ttl, profile }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { lendTerminal, terminalSize, terminalVariables } = await import("../terminal.ts");
  const { promise: stopped, resolve: stop } = Promise.withResolvers<number>();
  forwardSignals(() => undefined, stop);
  whenReaderLeaves(stop);

  const exitCode = await withClient(async (client) => {
    const { sandbox, leave } = await enter(client);
    const ended = await stay(sandbox).catch(async (error) => {
      // What went wrong first is what there is to say.
      await leave().catch(() => {});
      throw error;
    });
    await leave();
    return ended;
  });
  process.exit(exitCode);

  async function stay(sandbox: Sandbox): Promise<number> {
    const asked = {
      argv: [...shellIn(sandbox.info.name)],
      env: terminalVariables(),
      stdin: true,
      pty: terminalSize(),
      ...(cwd && { cwd }),
      ...(user !== undefined && { user }),
    };
    const remote = await sandbox.exec(asked, { over: "websocket" });
    const finished = orTellWhere(lendTerminal(remote), sandbox, () => remote).then(exitCodeOf);
    finished.catch(() => {});
    const code = await Promise.race([finished, stopped.then((code) => ({ code }))]);
    if (typeof code === "number") return code;
    // The terminal is gone or we are told to go: the shell is told as a terminal would.
    await remote.signal("HUP").catch(() => {});
    return code.code;
  }

  async function enter(client: Client): Promise<{ sandbox: Sandbox; leave(): Promise<unknown> }> {
    if (idOrName !== undefined) {
      return { sandbox: await client.sandboxes.get(idOrName), leave: async () => {} };
    }
    const made = client.sandboxes.create({
      ...(profile !== undefined && { profile }),
      ...(ttl && { ttlMs: ttl }),
    });
    const sandbox = await waiting("starting a sandbox", made);
    return { sandbox, leave: () => sandbox.destroy() };
  }
}
