import type { Signal } from "@sandboxer/contract";
import { type Command, InvalidArgumentError } from "commander";

const SIGNALS: readonly Signal[] = ["HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP"];

export function register(program: Command): void {
  program
    .command("kill")
    .description("end a command of a sandbox, or send it another signal")
    .argument("<sandbox>", "its id or name")
    .argument("<process>", "as `exec --detach` or `ps` shows it")
    .option("-s, --signal <name>", `one of ${SIGNALS.join(", ")} (default: TERM)`, signal)
    .option("--json", "print what was sent; give errors as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer kill build p1 --signal KILL")
    .action(kill);
}

/** As the shell's own takes it: TERM, SIGTERM or term. */
function signal(text: string): Signal {
  const word = text.toUpperCase().replace(/^SIG/, "");
  const known = SIGNALS.find((one) => one === word);
  if (!known) throw new InvalidArgumentError(`Give one of ${SIGNALS.join(", ")}.`);
  return known;
}

interface Options {
  readonly signal?: Signal;
  readonly json?: true;
}

async function kill(idOrName: string, id: string, { signal = "TERM", json }: Options): Promise<void> {
  const { SandboxerError } = await import("@sandboxer/contract");
  const { withClient } = await import("../connect.ts");
  await withClient(async (client) => {
    const sandbox = await client.sandboxes.get(idOrName);
    const info = (await sandbox.processes()).find((one) => one.id === id);
    if (!info || info.exit) {
      throw new SandboxerError("not_found", `no process ${id} runs`, {
        hint: `\`sandboxer ps ${idOrName}\` shows what does.`,
      });
    }
    const attached = await sandbox.attachProcess(id);
    await attached.signal(signal);
    attached.detach();
  });
  if (json) process.stdout.write(`${JSON.stringify({ process: id, signal })}\n`);
  process.exit(0);
}
