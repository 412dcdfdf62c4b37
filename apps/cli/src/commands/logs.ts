import type { ProcessInfo } from "@sandboxer/contract";
import type { RemoteProcess } from "@sandboxer/sdk";
import type { Command } from "commander";
import { relay } from "../relay.ts";

export function register(program: Command): void {
  program
    .command("logs")
    .description("print what a command of a sandbox has said lately")
    .argument("<sandbox>", "its id or name")
    .argument("[process]", "as `exec --detach` or `ps` shows it; left out, the newest")
    .option("-f, --follow", "go on until the command ends")
    .option("--json", "give errors as JSON")
    .addHelpText("after", "\nExamples:\n  $ sandboxer logs build\n  $ sandboxer logs -f build p1")
    .action(logs);
}

async function logs(idOrName: string, id: string | undefined, { follow }: { follow?: true }): Promise<void> {
  const { SandboxerError } = await import("@sandboxer/contract");
  const { withClient } = await import("../connect.ts");
  await withClient(async (client) => {
    const sandbox = await client.sandboxes.get(idOrName);
    const all = await sandbox.processes();
    const info = id === undefined ? newest(all) : all.find((one) => one.id === id);
    if (!info) {
      throw new SandboxerError("not_found", id === undefined ? "nothing has run in it" : `no process ${id}`, {
        hint: `\`sandboxer ps --all ${idOrName}\` shows what there is.`,
      });
    }
    const attached = await sandbox.attachProcess(info.id);
    await (follow ? relay(attached, false) : printUntil(attached, info));
  });
  process.exit(0);
}

function newest(all: readonly ProcessInfo[]): ProcessInfo | undefined {
  return all.toSorted((a, b) => a.startedAtMs - b.startedAtMs).at(-1);
}

/** What there was when we came; what follows is not waited for. */
async function printUntil(attached: RemoteProcess, info: ProcessInfo): Promise<void> {
  const left = { stdout: info.stdoutBytes > 0, stderr: info.stderrBytes > 0 };
  const total = { stdout: info.stdoutBytes, stderr: info.stderrBytes };
  if (!left.stdout && !left.stderr) return attached.detach();
  for await (const event of attached.events) {
    if (event.type === "exit") return;
    process[event.type].write(event.data.subarray(0, total[event.type] - event.offset));
    left[event.type] = event.offset + event.data.length < total[event.type];
    if (!left.stdout && !left.stderr) return attached.detach();
  }
}
