import type { Exit } from "@sandboxer/contract";
import type { Handle } from "./connect.ts";

/** What a shell gives for a command that was killed. */
const KILLED = 137;

/** One line about an end that the command did not choose, for whoever only sees its exit code. */
export async function sayWhy(sandbox: Pick<Handle, "metrics">, exit: Exit): Promise<void> {
  const why = exit.kind === "timeout" ? "the time of --timeout was up" : await lackOfMemory(sandbox, exit);
  if (why) process.stderr.write(`sandboxer: ended: ${why}\n`);
}

async function lackOfMemory(sandbox: Pick<Handle, "metrics">, exit: Exit): Promise<string | undefined> {
  const isKilled =
    exit.kind === "signalled" ? exit.signal === "KILL" : exit.kind === "exited" && exit.code === KILLED;
  if (!isKilled) return undefined;
  // Whoever cannot count says nothing, and a guess would be worse.
  const metrics = await sandbox.metrics().catch(() => undefined);
  return metrics && metrics.oomKills > 0
    ? "the sandbox ran out of memory (--memory gives it more)"
    : undefined;
}
