import {
  type Approval,
  approvalSchema,
  type Changes,
  collect,
  type ElevateBody,
  type ExecInput,
  type ExecResult,
  type ForkBody,
  forkedSchema,
  type GuardedNetworkInput,
  type Metrics,
  type Mirror,
  metricsSchema,
  type NetworkCallList,
  networkCallListSchema,
  type Ports,
  type Preview,
  type Process,
  type ProcessInfo,
  previewSchema,
  processListSchema,
  type Reachability,
  type Receipt,
  reachabilitySchema,
  receiptSchema,
  type Sandbox as SandboxInfo,
  type Snapshot,
  sandboxSchema,
  snapshotSchema,
  type TakeSnapshotBody,
  type Terminals,
} from "@sandboxer/contract";
import { untilAborted } from "./abort.ts";
import { openFiles, type SandboxFiles } from "./files.ts";
import { openPorts } from "./ports.ts";
import { drained, openProcess, type RemoteProcess } from "./process.ts";
import { openOverSocket } from "./socket-process.ts";
import type { Once, Transport } from "./transport.ts";
import { openChanges } from "./workspace.ts";

export interface RunOptions extends Omit<ExecInput, "argv" | "stdin"> {
  /** Given as the command's whole standard input. */
  readonly input?: Uint8Array | string;
  /** How much of each output to keep. */
  readonly limitBytes?: number;
  /** Ends the command; who waits for it gets the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * `http` is a request for the output and one for each piece of input. `websocket` is one connection
 * for both, where the platform has them: quicker to type into, and back by itself when it breaks.
 */
export interface Way {
  readonly over?: "http" | "websocket";
}

/** A handle to one sandbox. Dropping it leaves the sandbox alone. */
export interface Sandbox {
  readonly id: string;
  /** As it was when last looked at. */
  readonly info: SandboxInfo;
  readonly files: SandboxFiles;
  readonly ports: Ports;
  readonly pty: Terminals;
  /** Of a copy-on-write workspace, what was changed and what becomes of it; of a mirror, `sync`. */
  readonly workspace: Changes & Mirror;
  exec(input: ExecInput, way?: Way): Promise<RemoteProcess>;
  /** Runs to the end and gives everything at once. A non-zero exit is a result, not an error. */
  run(argv: readonly string[], options?: RunOptions): Promise<ExecResult>;
  attachProcess(id: string, from?: { stdout?: number; stderr?: number }, way?: Way): Promise<RemoteProcess>;
  /** Those that run, and the last that ended. */
  processes(): Promise<ProcessInfo[]>;
  /** An address for a port inside, for a browser or for somebody without a key. */
  preview(port: number, options?: { readonly ttlMs?: number }): Promise<Preview>;
  refresh(): Promise<SandboxInfo>;
  /** The same sandbox, used through one of the key's attachments to it. */
  through(attachmentId: string): Sandbox;
  /** Moves the end to `ttlMs` from now. */
  extend(ttlMs: number): Promise<SandboxInfo>;
  /** How to get to it, as data. */
  reachability(): Promise<Reachability>;
  /** Ends it and makes another that was asked for in the same words. */
  recreate(once?: Once): Promise<Sandbox>;
  /** Where it ran and why, how long, what it cost, and for whom. */
  receipt(): Promise<Receipt>;
  /** Stops every process where it is; its time runs on. */
  pause(): Promise<SandboxInfo>;
  resume(): Promise<SandboxInfo>;
  /** Ends every process and keeps every file, of what is persistent. */
  stop(): Promise<SandboxInfo>;
  /** A new first process over the files that were kept, with its time anew. */
  start(): Promise<SandboxInfo>;
  /** What it uses, counted outside of it. */
  metrics(): Promise<Metrics>;
  /** The rules of its way out from now on. */
  changeNetwork(network: GuardedNetworkInput): Promise<SandboxInfo>;
  /** What it tried to reach, and the rules that would have allowed what was not. */
  networkCalls(afterSeq?: number): Promise<NetworkCallList>;
  /** Asks for more ways out, for a while; somebody else has to say yes. */
  elevate(body: ElevateBody, once?: Once): Promise<Approval>;
  /** Takes back at once what was opened for a while. */
  endElevations(): Promise<SandboxInfo>;
  /** Its files as they are now; `create` takes its id as `from`. */
  snapshot(body?: TakeSnapshotBody, once?: Once): Promise<Snapshot>;
  /** So many new ones as this one is now, perhaps each with a name. */
  fork(asked?: number | ForkBody, once?: Once): Promise<Sandbox[]>;
  destroy(): Promise<SandboxInfo>;
}

export function openSandbox(transport: Transport, first: SandboxInfo): Sandbox {
  let info = first;
  const path = `/v1/sandboxes/${first.id}`;

  const { openSocket } = transport;
  const explain = () => transport.ask(sandboxSchema, "GET", path);
  const overSocket = openSocket && { openSocket, sandboxPath: path, explain };

  /** Asks for what answers with the sandbox as it is then. */
  async function change(method: string, verb: string, call?: { json?: unknown }): Promise<SandboxInfo> {
    info = await transport.ask(sandboxSchema, method, path + verb, call);
    return info;
  }

  async function exec(input: ExecInput, { over }: Way = {}): Promise<RemoteProcess> {
    if (over === "websocket" && overSocket)
      return openOverSocket(overSocket, { type: "exec", request: input });
    return openProcess(transport, path, await transport.send("POST", `${path}/exec`, { json: input }));
  }

  return {
    id: first.id,
    get info() {
      return info;
    },
    files: openFiles(transport, path),
    ports: openPorts(transport, path),
    pty: {
      async resize(process, size) {
        const at = `${path}/processes/${encodeURIComponent(process)}/resize`;
        await drained(transport.send("POST", at, { json: size }));
      },
    },
    workspace: openChanges(transport, path),
    exec,
    run(argv, { input, limitBytes, signal, ...rest } = {}) {
      const start = () => exec({ ...rest, argv: [...argv], stdin: input !== undefined });
      const finish = (process: RemoteProcess) => {
        if (input !== undefined) feed(process, input);
        return collect(process, limitBytes);
      };
      return untilAborted(start, finish, signal);
    },
    async attachProcess(id, from = {}, { over } = {}) {
      if (over === "websocket" && overSocket)
        return openOverSocket(overSocket, { type: "attach", process: id, ...from });
      const output = `${path}/processes/${encodeURIComponent(id)}/output`;
      return openProcess(transport, path, await transport.send("GET", output, { query: from }));
    },
    async processes() {
      return (await transport.ask(processListSchema, "GET", `${path}/processes`)).processes;
    },
    through: (attachmentId) => openSandbox(transport.through(attachmentId), info),
    preview: (port, options = {}) =>
      transport.ask(previewSchema, "POST", `${path}/previews`, { json: { port, ...options } }),
    refresh: () => change("GET", ""),
    extend: (ttlMs) => change("POST", "/extend", { json: { ttlMs } }),
    reachability: () => transport.ask(reachabilitySchema, "GET", `${path}/reachability`),
    async recreate(once) {
      return openSandbox(transport, await transport.ask(sandboxSchema, "POST", `${path}/recreate`, { once }));
    },
    receipt: () => transport.ask(receiptSchema, "GET", `${path}/receipt`),
    pause: () => change("POST", "/pause"),
    resume: () => change("POST", "/resume"),
    stop: () => change("POST", "/stop"),
    start: () => change("POST", "/start"),
    metrics: () => transport.ask(metricsSchema, "GET", `${path}/metrics`),
    changeNetwork: (network) => change("PUT", "/network", { json: network }),
    networkCalls: (after = 0) =>
      transport.ask(networkCallListSchema, "GET", `${path}/network/calls`, { query: { after } }),
    elevate: (json, once) => transport.ask(approvalSchema, "POST", `${path}/elevations`, { json, once }),
    endElevations: () => change("DELETE", "/elevations"),
    ...copies(transport, path),
    destroy: () => change("DELETE", ""),
  };
}

/** What is made of a sandbox as it is now. */
function copies(transport: Transport, path: string): Pick<Sandbox, "snapshot" | "fork"> {
  return {
    snapshot: (body = {}, once) =>
      transport.ask(snapshotSchema, "POST", `${path}/snapshots`, { json: body, once }),
    async fork(asked = {}, once) {
      const json = typeof asked === "number" ? { count: asked } : asked;
      const answer = await transport.ask(forkedSchema, "POST", `${path}/fork`, { json, once });
      return answer.sandboxes.map((one) => openSandbox(transport, one));
    },
  };
}

/** Beside the reading of output, or both would wait for each other. A command may end without reading. */
function feed(process: Process, input: Uint8Array | string): void {
  const data = typeof input === "string" ? new TextEncoder().encode(input) : input;
  Promise.all([process.writeStdin(data), process.closeStdin()]).catch(() => {});
}
