import { writeSync } from "node:fs";
import { constants } from "node:os";

/** As if by the signal that ends other programs then. */
const READER_LEFT = 128 + constants.signals.SIGPIPE;
/** As `storage_full` has it in the error table: what was to be printed went nowhere. */
const OUTPUT_LOST = 74;

let abandon: ((exitCode: number) => void) | undefined;

/**
 * Whoever read our output has left, as in `| head`: every command ends then, and says nothing of it.
 * Output that is lost in another way, on a full disk or at a closed descriptor, is said and is no success.
 */
export function watchReader(asJson: boolean): void {
  const { stdout, stderr } = process;
  let [outFailed, errFailed]: (NodeJS.ErrnoException | undefined)[] = [];
  stdout.on("error", (error) => {
    outFailed = error;
    (abandon ?? process.exit)(exitCodeFor(error));
  });
  stderr.on("error", (error) => {
    errFailed = error;
    // Who cannot be told what goes wrong still gets the rest.
    if (hasLeft(error)) (abandon ?? process.exit)(exitCodeFor(error));
  });
  process.on("exit", (exitCode) => {
    // A command that ends right after its last word leaves no turn for that to be told as an event.
    outFailed ??= stdout.errored ?? undefined;
    errFailed ??= stderr.errored ?? undefined;
    const failed = outFailed ?? errFailed;
    if (failed && exitCode === 0) process.exitCode = exitCodeFor(failed);
    if (outFailed && !hasLeft(outFailed)) sayLost(outFailed, asJson);
  });
}

/** For a command that has something to end first, whatever keeps its output from going out. */
export function whenReaderLeaves(endFirst: (exitCode: number) => void): void {
  abandon = endFirst;
}

function exitCodeFor(error: NodeJS.ErrnoException): number {
  return hasLeft(error) ? READER_LEFT : OUTPUT_LOST;
}

/** A terminal that hung up says it the second way. */
function hasLeft({ code }: NodeJS.ErrnoException): boolean {
  return code === "EPIPE" || code === "EIO";
}

/** At once and without the streams: this process is about to be gone. */
function sayLost(failed: NodeJS.ErrnoException, asJson: boolean): void {
  const why = failed.code === "EBADF" ? "it is closed" : failed.message;
  const message = `standard output takes nothing, so what was to be printed is lost: ${why}`;
  const hint = "Send it somewhere with room, or to /dev/null where nobody wants it.";
  const error = { code: "storage_full", message, hint, details: {} };
  try {
    writeSync(2, asJson ? `${JSON.stringify({ error })}\n` : `error: ${message}\nhint: ${hint}\n`);
  } catch {
    // Nowhere to say it: the exit code does.
  }
}
