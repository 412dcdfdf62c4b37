import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { closeRunDirectory, openRunDirectory } from "../tests/capabilities/run-directory.ts";
import { makeRootfs } from "./rootfs.ts";
import type { Place } from "./subject.ts";

/** One run of the bench: where it keeps things, and what has to be closed after it. */
export interface Session {
  /** A folder of its own for each name, over the one tree of programs. */
  placeOf(name: string): Place;
  /** Aborted by Ctrl-C: nothing may start while things are being closed. */
  readonly signal: AbortSignal;
  /** Closed at the end whatever comes: last kept, first closed. */
  keep<T extends { close(): Promise<void> }>(opened: T): T;
  /** One line that replaces itself, for whoever watches. */
  show(text: string): void;
}

export async function inSession(work: (session: Session) => Promise<void>): Promise<void> {
  const directory = openRunDirectory();
  const opened: { close(): Promise<void> }[] = [];
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => interrupt.abort(new Error(`ended by ${signal}`)));
  }
  const show = (text: string): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  };
  let places = 0;
  try {
    const rootfs = join(directory, "rootfs");
    await makeRootfs(rootfs);
    await work({
      placeOf() {
        // Short: paths of sockets have little room.
        const scratch = join(directory, String(places++));
        mkdirSync(scratch);
        return { rootfs, scratch };
      },
      signal: interrupt.signal,
      keep(one) {
        opened.push(one);
        return one;
      },
      show,
    });
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    show("");
    console.error(interrupt.signal.reason.message);
    process.exitCode = 130;
  } finally {
    // One that cannot be closed does not keep the others.
    for (const one of opened.splice(0).reverse()) {
      await one.close().catch((error: Error) => console.error(`left behind: ${error.message}`));
    }
    closeRunDirectory(directory);
  }
}
