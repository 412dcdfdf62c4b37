import { Buffer } from "node:buffer";
import { type ExecInput, type Process, type ProcessInfo, SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { header } from "../exchange.ts";
import { carry } from "./carry.ts";
import { feeding, type Rpc, streaming, unary } from "./rpc.ts";
import { asUser, pathOf, type Visit } from "./visit.ts";

const selector = z.union([
  z.object({ pid: z.int().nonnegative() }),
  z.object({ tag: z.string().min(1).max(255) }),
]);
type Selector = z.output<typeof selector>;
const pty = z.object({ size: z.object({ cols: z.int().positive(), rows: z.int().positive() }) });
const config = z.object({
  cmd: z.string().min(1),
  args: z.array(z.string()).default([]),
  envs: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
});
/** Most commands are over by then; one that goes on tells its pid so much later. */
const FIRST_MOMENT_MS = 5;
const SIGNALS = {
  SIGNAL_SIGTERM: "TERM",
  15: "TERM",
  SIGNAL_SIGKILL: "KILL",
  9: "KILL",
} as const;
const signal = z.union([z.enum(["SIGNAL_SIGTERM", "SIGNAL_SIGKILL"]), z.literal([9, 15])]);

const input = z.union([z.object({ stdin: z.string() }), z.object({ pty: z.string() })]);
const bytesOf = (given: z.output<typeof input>) =>
  Buffer.from("stdin" in given ? given.stdin : given.pty, "base64");

/** What a client said of a process that the house does not keep: found again by its pid. */
interface Kept {
  readonly input: "stdin" | "pty" | "none";
  readonly config: z.output<typeof config>;
  readonly tag?: string | undefined;
}
const kept = new WeakMap<object, Map<string, Kept>>();

function keptIn({ desk, sandbox }: Visit): {
  get(pid: number): Kept | undefined;
  set(pid: number, it: Kept): void;
} {
  const known = kept.get(desk) ?? new Map<string, Kept>();
  kept.set(desk, known);
  return {
    get: (pid) => known.get(`${sandbox.id} ${pid}`),
    set(pid, it) {
      known.set(`${sandbox.id} ${pid}`, it);
      if (known.size > MOST_KEPT) known.delete([...known.keys()][0] as string);
    },
  };
}
const MOST_KEPT = 10_000;

async function start(visit: Visit, { process: asked, ...more }: StartRequest): Promise<Process> {
  const { ground, principal, sandbox } = visit;
  const timeoutMs = timeoutOf(visit);
  const input: ExecInput = {
    argv: [asked.cmd, ...asked.args],
    env: asked.envs,
    ...asUser(visit),
    ...(asked.cwd !== undefined && asked.cwd !== "" && { cwd: pathOf(asked.cwd) }),
    stdin: more.pty !== undefined || (more.stdin ?? true),
    ...(more.pty && { pty: more.pty.size }),
    ...(timeoutMs > 0 && { timeoutMs }),
  };
  const process = await ground.core.exec(principal, sandbox.id, input).catch((error) => {
    const { code } = SandboxerError.from(error);
    if (asked.cwd !== undefined && (code === "path_not_found" || code === "not_a_directory")) {
      throw new SandboxerError("invalid_request", `cwd '${asked.cwd}' does not exist`);
    }
    throw error;
  });
  const kind = more.pty ? "pty" : input.stdin ? "stdin" : "none";
  if (process.pid !== undefined) {
    keptIn(visit).set(process.pid, { config: asked, tag: more.tag, input: kind });
  }
  return process;
}

/** As Connect has it: at most ten digits, or it is a mistake. */
function timeoutOf(visit: Visit): number {
  const given = header(visit, "connect-timeout-ms") ?? "0";
  if (/^\d{1,10}$/.test(given)) return Number(given);
  throw new SandboxerError("invalid_request", "connect-timeout-ms is no number of milliseconds");
}

const startRequest = z.object({
  process: config,
  pty: pty.optional(),
  tag: z.string().optional(),
  stdin: z.boolean().optional(),
});
type StartRequest = z.output<typeof startRequest>;

async function find(visit: Visit, wanted: Selector, isOver: "too" | "not" = "not"): Promise<ProcessInfo> {
  const { ground, principal, sandbox } = visit;
  const keeps = keptIn(visit);
  const all = (await ground.core.ps(principal, sandbox.id)).filter(({ exit }) => isOver === "too" || !exit);
  const found = all.findLast(({ pid }) =>
    "pid" in wanted ? pid === wanted.pid : pid !== undefined && keeps.get(pid)?.tag === wanted.tag,
  );
  if (found) return found;
  const name = "pid" in wanted ? `pid ${wanted.pid}` : `tag ${wanted.tag}`;
  throw new SandboxerError("not_found", `process with ${name} not found`);
}

type Kind = "stdin" | "pty";
const kindOf = (given: z.output<typeof input>): Kind => ("stdin" in given ? "stdin" : "pty");

/** Nothing is taken that it would never read. Of one that another gateway has started, only this is known. */
function refuseDeaf(visit: Visit, { pid = 0, pty: isTerminal }: ProcessInfo, kind: Kind): void {
  const { input = isTerminal ? "pty" : "stdin" } = keptIn(visit).get(pid) ?? {};
  if (input === kind) return;
  throw new SandboxerError("invalid_request", `this process was started without ${kind}`);
}

/** To write to it, or to signal it. */
async function reach(visit: Visit, wanted: Selector, kind?: Kind): Promise<Process> {
  const { ground, principal, sandbox } = visit;
  const found = await find(visit, wanted);
  if (kind) refuseDeaf(visit, found, kind);
  return ground.processes.reach(principal, sandbox.id, found.id);
}

export const processRpcs: Readonly<Record<string, Rpc>> = {
  "/process.Process/Start": streaming(
    startRequest,
    async (visit, asked, open) => {
      const process = await start(visit, asked);
      await carry(visit, process, { isTerminal: asked.pty !== undefined, open });
    },
    FIRST_MOMENT_MS,
  ),
  "/process.Process/Connect": streaming(z.object({ process: selector }), async (visit, asked, open) => {
    const { ground, principal, sandbox } = visit;
    const found = await find(visit, asked.process, "too");
    // What was said before belongs to those who listened then.
    const from = { stdout: found.stdoutBytes, stderr: found.stderrBytes };
    const process = await ground.core.attachProcess(principal, sandbox.id, found.id, from);
    const timeoutMs = timeoutOf(visit);
    await carry(visit, process, { isTerminal: found.pty, open, timeoutMs });
  }),
  "/process.Process/List": unary(z.object({}), async (visit) => {
    const { ground, principal, sandbox } = visit;
    const keeps = keptIn(visit);
    const running = (await ground.core.ps(principal, sandbox.id)).filter(({ exit }) => exit === undefined);
    return {
      processes: running.map(({ pid = 0, argv: [cmd = "", ...args] }) => {
        const it = keeps.get(pid);
        return { pid, config: it?.config ?? { cmd, args }, ...(it?.tag !== undefined && { tag: it.tag }) };
      }),
    };
  }),
  "/process.Process/Update": unary(
    z.object({ process: selector, pty: pty.optional() }),
    async (visit, asked) => {
      const { ground, principal, sandbox } = visit;
      const { id } = await find(visit, asked.process);
      if (asked.pty) await ground.core.resize(principal, sandbox.id, id, asked.pty.size);
      return {};
    },
  ),
  "/process.Process/SendInput": unary(
    z.object({ process: selector, input }),
    async (visit, { process, input }) => {
      await (await reach(visit, process, kindOf(input))).writeStdin(bytesOf(input));
      return {};
    },
  ),
  "/process.Process/StreamInput": feeding(
    z.union([
      z.object({ start: z.object({ process: selector }) }),
      z.object({ data: z.object({ input }) }),
      z.object({ keepalive: z.object({}) }),
    ]),
    async (visit, messages) => {
      const { ground, principal, sandbox } = visit;
      let fed: { readonly info: ProcessInfo; readonly process: Process } | undefined;
      for await (const message of messages) {
        if ("start" in message) {
          const info = await find(visit, message.start.process);
          fed = { info, process: await ground.processes.reach(principal, sandbox.id, info.id) };
        } else if ("data" in message) {
          if (!fed) throw new SandboxerError("invalid_request", "input came before its process was named");
          refuseDeaf(visit, fed.info, kindOf(message.data.input));
          await fed.process.writeStdin(bytesOf(message.data.input));
        }
      }
      return {};
    },
  ),
  "/process.Process/CloseStdin": unary(z.object({ process: selector }), async (visit, asked) => {
    await (await reach(visit, asked.process, "stdin")).closeStdin();
    return {};
  }),
  "/process.Process/SendSignal": unary(z.object({ process: selector, signal }), async (visit, asked) => {
    await (await reach(visit, asked.process)).signal(SIGNALS[asked.signal]);
    return {};
  }),
};
