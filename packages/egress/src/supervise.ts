import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  type Guard,
  type GuardDoor,
  type GuardedNetwork,
  type NetworkCall,
  SandboxerError,
} from "@sandboxer/contract";
import { readLines, writeLine } from "./lines.ts";

export interface GuardOptions {
  readonly boxdPath: string;
  /** For the guard's own socket. */
  readonly dir: string;
  /** Resolvers to ask instead of this machine's. */
  readonly dns?: readonly string[];
  /** What the guard is started with, before Node: for tests, which give it a network of its own. */
  readonly prefix?: readonly string[];
}

const ANSWERS_WITHIN_MS = 15_000;
const RESTART_AFTER_MS = 100;
const KEPT_CALLS = 1_000;

interface Watched {
  readonly door: GuardDoor;
  network: GuardedNetwork;
  readonly calls: NetworkCall[];
  /** Where a call with this key of the guard's lies. */
  readonly seqs: Map<number, number>;
  lastSeq: number;
  watching: PromiseWithResolvers<void>;
}

/** Starts the guard when it is first needed, and again whenever it dies. */
export function createGuard(options: GuardOptions): Guard {
  const watched = new Map<string, Watched>();
  let child: ChildProcess | undefined;
  let isClosed = false;
  let restart: NodeJS.Timeout | undefined;

  const say = (message: object): void => {
    if (child?.stdin) writeLine(child.stdin, message);
  };
  const protect = (sandbox: string, { door, network }: Watched): void =>
    say({ op: "protect", sandbox, socket: door.socketPath, network });

  const hear = (message: Record<string, unknown>): void => {
    const { event, sandbox, key, call, reason } = message;
    const one = watched.get(String(sandbox));
    if (!one) return;
    if (event === "watching") one.watching.resolve();
    else if (event === "lost") one.watching.reject(unavailable(String(reason)));
    else if (event === "call") remember(one, Number(key), call as Omit<NetworkCall, "seq">);
  };

  const start = (): void => {
    if (child || isClosed) return;
    mkdirSync(options.dir, { recursive: true, mode: 0o700 });
    const started = launch(options);
    child = started;
    readLines(started.stdout as NonNullable<typeof started.stdout>, hear);
    started.stdin?.on("error", () => {});
    started.once("error", () => started.kill());
    started.once("close", () => {
      if (child !== started) return;
      child = undefined;
      if (isClosed || watched.size === 0) return;
      for (const one of watched.values()) one.seqs.clear();
      restart = setTimeout(start, RESTART_AFTER_MS);
    });
    for (const [sandbox, one] of watched) protect(sandbox, one);
  };

  return {
    async protect(sandboxId, door, network) {
      const known = watched.get(sandboxId);
      const watching = Promise.withResolvers<void>();
      watching.promise.catch(() => {});
      const calls = known?.calls ?? [];
      const lastSeq = known?.lastSeq ?? 0;
      const one: Watched = { door, network, calls, lastSeq, seqs: new Map(), watching };
      watched.set(sandboxId, one);
      if (child) protect(sandboxId, one);
      else start();
      await within(watching.promise, ANSWERS_WITHIN_MS);
    },
    async change(sandboxId, network) {
      const one = watched.get(sandboxId);
      if (!one) throw new SandboxerError("invalid_state", "nobody guards this sandbox");
      one.network = network;
      say({ op: "change", sandbox: sandboxId, network });
    },
    knows: (sandboxId) => watched.has(sandboxId),
    forget(sandboxId) {
      if (watched.delete(sandboxId)) say({ op: "forget", sandbox: sandboxId });
    },
    calls: (sandboxId, afterSeq = 0) =>
      (watched.get(sandboxId)?.calls ?? []).filter(({ seq }) => seq > afterSeq),
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

function launch({ boxdPath, dir, dns, prefix = [] }: GuardOptions): ChildProcess {
  const main = fileURLToPath(new URL("./guard/main.ts", import.meta.url));
  const options = ["--boxd", boxdPath, "--dir", dir, ...(dns ? ["--dns", dns.join(",")] : [])];
  const [command = "", ...args] = [...prefix, process.execPath, main, ...options];
  return spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], env: {} });
}

function remember(one: Watched, key: number, call: Omit<NetworkCall, "seq">): void {
  const known = one.seqs.get(key);
  if (known !== undefined) {
    const at = one.calls.findLastIndex(({ seq }) => seq === known);
    if (at >= 0) one.calls[at] = { ...call, seq: known };
    return;
  }
  one.lastSeq += 1;
  one.seqs.set(key, one.lastSeq);
  one.calls.push({ ...call, seq: one.lastSeq });
  if (one.calls.length > KEPT_CALLS) one.calls.shift();
  if (one.seqs.size > KEPT_CALLS * 2) one.seqs.delete(one.seqs.keys().next().value as number);
}

async function within(answer: Promise<void>, ms: number): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(unavailable("it does not answer")), ms);
  try {
    await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function unavailable(reason: string): SandboxerError {
  return new SandboxerError("extension_unavailable", `the guard does not watch this sandbox: ${reason}`);
}
