import { constants } from "node:os";

/** As if by the signal that ends other programs then. */
const READER_LEFT = 128 + constants.signals.SIGPIPE;

let leave: (exitCode: number) => void = (exitCode) => process.exit(exitCode);

/** Whoever read our output has left, as in `| head`: every command ends then, and says nothing of it. */
export function watchReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      leave(READER_LEFT);
    });
  }
}

/** For a command that has something to end first. */
export function whenReaderLeaves(abandon: (exitCode: number) => void): void {
  leave = abandon;
}
