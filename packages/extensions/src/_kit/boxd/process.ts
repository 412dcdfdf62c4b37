import {
  exitSchema,
  type Process,
  type ProcessEvent,
  type ProcessInfo,
  processInfoSchema,
  SandboxerError,
  type Signal,
} from "@sandboxer/contract";
import type { Connection } from "./connection.ts";
import { ProtocolError } from "./frame.ts";
import type { Stream } from "./stream.ts";

/** Waits for the REPLY of `exec` or `attach` and gives the process behind it. */
export async function openProcess(connection: Connection, stream: Stream): Promise<Process> {
  const reply = await stream.reply;
  const id = String(reply.process);
  const from = { stdout: Number(reply.stdout ?? 0), stderr: Number(reply.stderr ?? 0) };
  return {
    id,
    ...(typeof reply.pid === "number" ? { pid: reply.pid } : {}),
    events: events(stream, from),
    writeStdin: (data) => stream.send(0, data),
    closeStdin: () => stream.sendEof(0),
    async signal(signal: Signal) {
      await connection.call("signal", { process: id, signal });
    },
    detach: () => stream.cancel(),
  };
}

/** Leaving the loop cancels the stream; the process itself goes on. */
async function* events(
  stream: Stream,
  offsets: { stdout: number; stderr: number },
): AsyncGenerator<ProcessEvent> {
  try {
    for (;;) {
      const item = await stream.next();
      if (item.type === "cancelled") return;
      if (item.type === "data") {
        const type = item.channel === 2 ? "stderr" : "stdout";
        yield { type, offset: offsets[type], data: item.data };
        offsets[type] += item.data.length;
      } else if (item.type === "end") {
        const exit = exitSchema.safeParse(item.result.exit);
        if (!exit.success) throw new ProtocolError("an exit that is none");
        yield { type: "exit", exit: exit.data };
        return;
      }
    }
  } finally {
    stream.cancel();
  }
}

export async function listProcesses(connection: Connection): Promise<ProcessInfo[]> {
  const { processes } = await connection.call("processes");
  if (Array.isArray(processes)) return processes.map(infoOf);
  throw new SandboxerError("extension_failed", "the sandbox sent a broken list of processes");
}

function infoOf({ process, attachment, stdout, stderr, ...rest }: Record<string, unknown>): ProcessInfo {
  const info = processInfoSchema.safeParse({
    ...rest,
    id: process,
    stdoutBytes: stdout,
    stderrBytes: stderr,
    ...(attachment === undefined ? {} : { attachmentId: attachment }),
  });
  if (info.success) return info.data;
  throw new SandboxerError("extension_failed", "the sandbox sent a broken list of processes");
}
