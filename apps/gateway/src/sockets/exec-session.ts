import {
  decodeInput,
  EXEC_WINDOW_BYTES,
  type ExecCommand,
  type ExecReply,
  encodeOutput,
  execCommandSchema,
  type Process,
  SandboxerError,
} from "@sandboxer/contract";
import type { WebSocket } from "ws";
import { parseStrictly } from "../json/strict.ts";
import type { Report } from "../rest/failure.ts";
import type { Hear, Inbox } from "./inbox.ts";

/** What a client may have said that the command has not taken yet. */
export const MOST_WAITING_BYTES = 4 << 20;
export const POLICY_VIOLATION = 1008;
const NORMAL = 1000;

export interface Session {
  readonly process: Process;
  resize(size: { cols: number; rows: number }): Promise<void>;
  readonly report: Report;
}

/** One command on one socket, until either ends. The command goes on when only its reader leaves. */
export async function serveSession(socket: WebSocket, inbox: Inbox, session: Session): Promise<void> {
  const { process, report } = session;
  const say = (reply: ExecReply) => socket.send(JSON.stringify(reply));
  const credit = createCredit();
  const hear = createHearing(socket, session, say, credit.give);
  socket.once("close", () => {
    process.detach();
    credit.end();
  });
  say({ type: "started", process: process.id, ...(process.pid !== undefined && { pid: process.pid }) });
  inbox.hand(hear);
  try {
    for await (const event of process.events) {
      if (event.type === "exit") {
        say(event);
        continue;
      }
      await credit.take(event.data.length);
      await sent(socket, encodeOutput(event));
    }
    socket.close(NORMAL);
  } catch (error) {
    say({ type: "error", error: report(error) });
    socket.close(POLICY_VIOLATION);
  }
}

export function refuseMore(socket: WebSocket): void {
  socket.close(POLICY_VIOLATION, "too much input at once");
}

function sent(socket: WebSocket, message: Uint8Array): Promise<void> {
  return new Promise((resolve) => socket.send(message, () => resolve()));
}

/** Output that the reader has not taken yet is bounded: past that, the command waits. */
function createCredit() {
  let left = EXEC_WINDOW_BYTES;
  let wake = () => {};
  return {
    give(bytes: number): void {
      left = Math.min(left + bytes, EXEC_WINDOW_BYTES);
      wake();
    },
    async take(bytes: number): Promise<void> {
      while (left <= 0) await new Promise<void>((resolve) => (wake = resolve));
      left -= bytes;
    },
    end(): void {
      left = Number.POSITIVE_INFINITY;
      wake();
    },
  };
}

/** Input keeps its order; a signal does not wait behind input that nobody reads. */
function createHearing(
  socket: WebSocket,
  { process, resize, report }: Session,
  say: (reply: ExecReply) => void,
  giveCredit: (bytes: number) => void,
): Hear {
  let input = Promise.resolve();
  let waitingBytes = 0;

  const answer = async (id: number, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      say({ type: "done", id });
    } catch (error) {
      say({ type: "failed", id, error: report(error) });
    }
  };
  const inOrder = (id: number, bytes: number, work: () => Promise<void>): void => {
    waitingBytes += bytes;
    if (waitingBytes > MOST_WAITING_BYTES) return refuseMore(socket);
    input = input
      .then(() => answer(id, work))
      .then(() => {
        waitingBytes -= bytes;
      });
  };
  const obey = (command: ExecCommand): void => {
    switch (command.type) {
      case "took":
        return giveCredit(command.bytes);
      case "end":
        return inOrder(command.id, 0, () => process.closeStdin());
      case "signal":
        return void answer(command.id, () => process.signal(command.signal));
      case "resize":
        return void answer(command.id, () => resize(command.size));
    }
  };

  return (message, isBinary) => {
    if (isBinary) {
      const part = decodeInput(message);
      if (part) return inOrder(part.id, part.data.length, () => process.writeStdin(part.data));
    } else {
      const command = execCommandSchema.safeParse(fromJson(message));
      if (command.success) return obey(command.data);
    }
    const error = new SandboxerError("invalid_request", "a message is in a form this gateway does not know");
    say({ type: "error", error: report(error) });
    socket.close(POLICY_VIOLATION);
  };
}

function fromJson(message: Buffer): unknown {
  try {
    return parseStrictly(message);
  } catch {
    return undefined;
  }
}
