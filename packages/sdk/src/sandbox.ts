import {
  collect,
  type ExecInput,
  type ExecResult,
  type Files,
  type Ports,
  type Process,
  type ProcessInfo,
  processListSchema,
  type Sandbox as SandboxInfo,
  sandboxSchema,
  type Terminals,
} from "@sandboxer/contract";
import { openFiles } from "./files.ts";
import { openPorts } from "./ports.ts";
import { drained, openProcess, type RemoteProcess } from "./process.ts";
import type { Transport } from "./transport.ts";

export interface RunOptions extends Omit<ExecInput, "argv" | "stdin"> {
  /** Given as the command's whole standard input. */
  readonly input?: Uint8Array | string;
  /** How much of each output to keep. */
  readonly limitBytes?: number;
}

/** A handle to one sandbox. Dropping it leaves the sandbox alone. */
export interface Sandbox {
  readonly id: string;
  /** As it was when last looked at. */
  readonly info: SandboxInfo;
  readonly files: Files;
  readonly ports: Ports;
  readonly pty: Terminals;
  exec(input: ExecInput): Promise<RemoteProcess>;
  /** Runs to the end and gives everything at once. A non-zero exit is a result, not an error. */
  run(argv: string[], options?: RunOptions): Promise<ExecResult>;
  attachProcess(id: string, from?: { stdout?: number; stderr?: number }): Promise<RemoteProcess>;
  /** Those that run, and the last that ended. */
  processes(): Promise<ProcessInfo[]>;
  refresh(): Promise<SandboxInfo>;
  destroy(): Promise<SandboxInfo>;
}

export function openSandbox(transport: Transport, first: SandboxInfo): Sandbox {
  let info = first;
  const path = `/v1/sandboxes/${first.id}`;

  async function exec(input: ExecInput): Promise<RemoteProcess> {
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
    exec,
    async run(argv, { input, limitBytes, ...rest } = {}) {
      const process = await exec({ ...rest, argv, stdin: input !== undefined });
      if (input !== undefined) feed(process, input);
      return collect(process, limitBytes);
    },
    async attachProcess(id, from = {}) {
      const output = `${path}/processes/${encodeURIComponent(id)}/output`;
      return openProcess(transport, path, await transport.send("GET", output, { query: from }));
    },
    async processes() {
      return (await transport.ask(processListSchema, "GET", `${path}/processes`)).processes;
    },
    async refresh() {
      info = await transport.ask(sandboxSchema, "GET", path);
      return info;
    },
    async destroy() {
      info = await transport.ask(sandboxSchema, "DELETE", path);
      return info;
    },
  };
}

/** Beside the reading of output, or both would wait for each other. A command may end without reading. */
function feed(process: Process, input: Uint8Array | string): void {
  const data = typeof input === "string" ? new TextEncoder().encode(input) : input;
  Promise.all([process.writeStdin(data), process.closeStdin()]).catch(() => {});
}
