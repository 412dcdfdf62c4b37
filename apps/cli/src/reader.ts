import { constants } from "node:os";

/** As if by the signal that ends other programs then. */
const READER_LEFT = 128 + constants.signals.SIGPIPE;

let abandon: ((exitCode: number) => void) | undefined;

/** Whoever read our output has left, as in `| head`: every command ends then, and says nothing of it. */
export function watchReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (abandon) return abandon(READER_LEFT);
      // A terminal that hung up says it the second way. A full disk is another matter.
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
      process.exit(READER_LEFT);
    });
  }
}

/** For a command that has something to end first, whatever keeps its output from going out. */
export function whenReaderLeaves(endFirst: (exitCode: number) => void): void {
  abandon = endFirst;
}
