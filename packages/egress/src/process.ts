import type { ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readLines, writeLine } from "./lines.ts";
import { sweepSockets } from "./sockets.ts";

export interface GuardOptions {
  readonly boxdPath: string;
  /** For the guard's own socket. */
  readonly dir: string;
  /** A file with certificates to trust besides those this machine trusts. */
  readonly caFile?: string;
  /** Resolvers to ask instead of this machine's. */
  readonly dns?: readonly string[];
  /** What the guard is started with, before Node: for tests, which give it a network of its own. */
  readonly prefix?: readonly string[];
}

const RESTART_AFTER_MS = 100;

export interface GuardProcess {
  /** Starts it where it does not run, and says whether it had to. */
  start(): boolean;
  say(message: object): void;
  close(): Promise<void>;
}

export interface Keeping {
  hear(message: Record<string, unknown>): void;
  /** It runs, for the first time or again, and knows nothing yet. */
  started(): void;
  /** It is no more, and neither is who waited in it. */
  gone(): void;
  /** Whether there is still something to guard. */
  isNeeded(): boolean;
}

/** The guard, started when it is first needed and again whenever it dies. */
export function keepGuard(options: GuardOptions, keeping: Keeping): GuardProcess {
  let child: ChildProcess | undefined;
  let restart: NodeJS.Timeout | undefined;
  let isClosed = false;

  const start = (): boolean => {
    if (child || isClosed) return false;
    mkdirSync(options.dir, { recursive: true, mode: 0o700 });
    sweepSockets(options.dir);
    const started = launch(options);
    child = started;
    if (started.stdout) readLines(started.stdout, keeping.hear);
    started.stdin?.on("error", () => {});
    started.once("error", () => started.kill());
    started.once("close", () => {
      if (child !== started) return;
      child = undefined;
      keeping.gone();
      if (!isClosed && keeping.isNeeded()) restart = setTimeout(start, RESTART_AFTER_MS);
    });
    keeping.started();
    return true;
  };

  return {
    start,
    say(message) {
      if (child?.stdin) writeLine(child.stdin, message);
    },
    async close() {
      isClosed = true;
      clearTimeout(restart);
      const leaving = child;
      if (!leaving) return;
      const gone = new Promise((resolve) => leaving.once("close", resolve));
      leaving.stdin?.end();
      await gone;
    },
  };
}

/** It has every secret in memory: when it crashes, nobody finds them in a file. What it starts inherits that. */
const NO_DUMPS = ["/bin/sh", "-c", 'ulimit -c 0 && exec "$@"', "guard"];

/** An idle connection shall not cost what was thrown away when it was made: Node would let 48 MiB of that lie. */
const LITTLE_WASTE = ["--max-semi-space-size=4"];

function launch({ boxdPath, dir, dns, caFile, prefix = [] }: GuardOptions): ChildProcess {
  const main = fileURLToPath(new URL("./guard/main.ts", import.meta.url));
  const options = [
    ...["--boxd", boxdPath, "--dir", dir],
    ...(dns ? ["--dns", dns.join(",")] : []),
    ...(caFile ? ["--ca", caFile] : []),
  ];
  const [command = "", ...args] = [
    ...prefix,
    ...NO_DUMPS,
    process.execPath,
    ...LITTLE_WASTE,
    main,
    ...options,
  ];
  // Only now: most who load this guard nothing.
  const { spawn } = process.getBuiltinModule("node:child_process");
  return spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], env: {} });
}
