import { fstatSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { isatty } from "node:tty";
import type { Exit, Process, Signal } from "@sandboxer/contract";

/** Linux's /dev/null, by its numbers (1, 3). */
const NULL_DEVICE = 0x103;

/** Whether there is input to pass on: a pipe, a file, or what is typed; but not nothing. */
export function hasInput(): boolean {
  try {
    return isatty(0) ? isInForeground() : fstatSync(0).rdev !== NULL_DEVICE;
  } catch {
    return false;
  }
}

/** A job in the background that reads from its terminal is stopped; one that only runs is not. */
function isInForeground(): boolean {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return group === foreground;
}

/** Passes bytes both ways until the process ends. Adds nothing of its own. `see` is shown what it says. */
export async function relay(
  remote: Process,
  withInput: boolean,
  beforeLeaving: () => void = () => {},
  see: (data: Uint8Array) => void = () => {},
): Promise<Exit> {
  if (withInput) void passInput(remote);
  for await (const event of remote.events) {
    if (event.type === "exit") {
      beforeLeaving();
      if (withInput) process.stdin.destroy();
      return event.exit;
    }
    see(event.data);
    await writeOut(process[event.type], event.data);
  }
  throw new Error("the process's output ended without an exit");
}

/** A command may end without reading its input; what is left is then nobody's. */
async function passInput(remote: Process): Promise<void> {
  try {
    for await (const chunk of process.stdin) await remote.writeStdin(chunk as Uint8Array);
    await remote.closeStdin();
  } catch {}
}

/**
 * Waits until the bytes are out. After an error of standard output it waits for good: `whenReaderLeaves`
 * ends us. What standard error does not take is passed over, for the sake of the rest.
 */
export function writeOut(stream: NodeJS.WriteStream, data: Uint8Array): Promise<void> {
  const mayFail = stream === process.stderr;
  if (mayFail && stream.errored) return Promise.resolve();
  return new Promise((resolve) => stream.write(data, (error) => (error && !mayFail ? error : resolve())));
}

/** As a shell reports it. */
export function exitCodeOf(exit: Exit): number {
  switch (exit.kind) {
    case "exited":
      return exit.code;
    case "timeout":
      return 124;
    case "signalled":
      return 128 + (constants.signals[`SIG${exit.signal}` as NodeJS.Signals] ?? 0);
  }
}

const FORWARDED: Readonly<Record<string, Signal>> = {
  SIGINT: "INT",
  SIGTERM: "TERM",
  SIGHUP: "HUP",
  SIGQUIT: "QUIT",
};

/** The first signal goes to the command; the second calls `abandon`; the third does not wait for that. */
export function forwardSignals(target: () => Process | undefined, abandon: (exitCode: number) => void): void {
  let count = 0;
  for (const [name, signal] of Object.entries(FORWARDED)) {
    const exitCode = 128 + constants.signals[name as NodeJS.Signals];
    process.on(name, () => {
      const remote = target();
      count = Math.max(count + 1, remote ? 1 : 2);
      if (count === 1) remote?.signal(signal).catch(() => {});
      else if (count === 2) abandon(exitCode);
      else process.exit(exitCode);
    });
  }
}
