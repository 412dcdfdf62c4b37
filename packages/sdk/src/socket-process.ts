import { type ExecOpen, encodeInput, type ProcessEvent, SandboxerError } from "@sandboxer/contract";
import { type ExecLine, openLine } from "./exec-line.ts";
import { unreachable } from "./failure.ts";
import type { RemoteProcess } from "./process.ts";
import type { OpenSocket } from "./sockets.ts";
import { createStdin } from "./stdin.ts";

/** About three seconds in all: a gateway that restarts is back by then. */
const RETRY_AFTER_MS = [50, 100, 200, 400, 800, 1_600];
const PART_BYTES = 256 << 10;

interface Way {
  readonly openSocket: OpenSocket;
  readonly sandboxPath: string;
  /** Asks by plain HTTP, so that a refusal comes with its reason. */
  explain(): Promise<unknown>;
}

/** A command on a WebSocket. When the line breaks, it goes on where its output was last read. */
export async function openOverSocket(way: Way, open: ExecOpen): Promise<RemoteProcess> {
  let line = await connect(way, open);
  const { process: id, pid } = line.started;
  const from = { stdout: 0, stderr: 0, ...(open.type === "attach" && offsetsOf(open)) };
  let detached = false;

  async function next(): Promise<ProcessEvent | undefined> {
    for (let tried = 0; ; ) {
      const event = await line.next();
      if (event || detached) return event;
      const waitMs = RETRY_AFTER_MS[tried++];
      if (waitMs === undefined) throw unreachable("the connection to the gateway broke");
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      line = await connect(way, { type: "attach", process: id, ...from }).catch((error) => {
        if (error.code !== "extension_unavailable") throw error;
        return line;
      });
    }
  }
  async function* events(): AsyncGenerator<ProcessEvent> {
    try {
      for (let event = await next(); event; event = await next()) {
        if (event.type !== "exit") from[event.type] = event.offset + event.data.length;
        yield event;
        if (event.type === "exit") return;
      }
    } finally {
      detach();
    }
  }
  const detach = () => {
    detached = true;
    line.close();
  };
  const ask = (command: object) => line.ask((askedId) => JSON.stringify({ ...command, id: askedId }));
  const stdin = createStdin(async (data, end) => {
    for (let at = 0; at < data.length; at += PART_BYTES) {
      const part = data.subarray(at, at + PART_BYTES);
      await line.ask((askedId) => encodeInput(askedId, part));
    }
    if (end) await ask({ type: "end" });
  });
  return {
    id,
    ...(pid !== undefined && { pid }),
    events: events(),
    writeStdin: stdin.write,
    closeStdin: stdin.end,
    resize: (size) => ask({ type: "resize", size }),
    signal: (signal) => ask({ type: "signal", signal }),
    detach,
  };
}

function offsetsOf({ stdout = 0, stderr = 0 }: Extract<ExecOpen, { type: "attach" }>) {
  return { stdout, stderr };
}

/** A browser says only that a socket failed; the same asked over HTTP says why. */
async function connect({ openSocket, sandboxPath, explain }: Way, open: ExecOpen): Promise<ExecLine> {
  try {
    return await openLine(openSocket, sandboxPath, open);
  } catch (error) {
    if (SandboxerError.is(error)) throw error;
    await explain();
    throw unreachable("the gateway did not accept a WebSocket", error);
  }
}
