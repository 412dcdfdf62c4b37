import {
  decodeOutput,
  EXEC_PROTOCOL,
  type ExecCommand,
  type ExecOpen,
  type ExecReply,
  execReplySchema,
  type ProcessEvent,
  SandboxerError,
} from "@sandboxer/contract";
import { fromJson, rebuild, strange, unreachable } from "./failure.ts";
import type { OpenSocket } from "./sockets.ts";

type Started = Extract<ExecReply, { type: "started" }>;

/** One WebSocket with one command on it. */
export interface ExecLine {
  readonly started: Started;
  /** `undefined` when the line broke before the command ended. */
  next(): Promise<ProcessEvent | undefined>;
  /** Resolves with the gateway's answer to it. */
  ask(make: (id: number) => string | Uint8Array<ArrayBuffer>): Promise<void>;
  close(): void;
}

interface Asked {
  resolve(): void;
  reject(error: unknown): void;
}

export async function openLine(openSocket: OpenSocket, path: string, open: ExecOpen): Promise<ExecLine> {
  const socket = await openSocket(`${path}/exec`, EXEC_PROTOCOL);
  const came: (ProcessEvent | Error | undefined)[] = [];
  const asked = new Map<number, Asked>();
  let wake = () => {};
  let lastId = 0;
  const begun = Promise.withResolvers<Started>();
  const put = (one: ProcessEvent | Error | undefined) => {
    came.push(one);
    wake();
  };
  const settle = (reply: ExecReply): void => {
    if (reply.type === "started") return begun.resolve(reply);
    if (reply.type === "exit") return put(reply);
    if (reply.type === "error") {
      begun.reject(rebuild(reply.error));
      return put(rebuild(reply.error));
    }
    const waiting = asked.get(reply.id);
    asked.delete(reply.id);
    if (reply.type === "done") waiting?.resolve();
    else waiting?.reject(rebuild(reply.error));
  };
  socket.addEventListener("message", ({ data }) => {
    const event = typeof data === "string" ? replyOf(data) : decodeOutput(data as ArrayBuffer);
    if (!event) put(strange("a message is in a form this client does not know"));
    else if ("data" in event) put(event);
    else settle(event);
  });
  socket.addEventListener("close", () => {
    const broke = unreachable("the connection to the gateway broke");
    begun.reject(broke);
    for (const { reject } of asked.values()) reject(broke);
    asked.clear();
    put(undefined);
  });
  socket.send(JSON.stringify(open));
  const took = (bytes: number) => tell(socket, { type: "took", bytes });

  return {
    started: await begun.promise,
    async next() {
      while (came.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      // The last word stays: whoever asks again hears it again.
      const one = came.length === 1 && isLast(came[0]) ? came[0] : came.shift();
      if (SandboxerError.is(one)) throw one;
      if (one && "data" in one) took(one.data.length);
      return one as ProcessEvent | undefined;
    },
    ask(make) {
      lastId = (lastId + 1) % 2 ** 32;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (socket.readyState !== socket.OPEN) return Promise.reject(unreachable("the connection is closed"));
      asked.set(lastId, { resolve, reject });
      socket.send(make(lastId));
      return promise;
    },
    close() {
      socket.close();
      put(undefined);
    },
  };
}

function isLast(one: ProcessEvent | Error | undefined): boolean {
  return one === undefined || one instanceof Error;
}

function tell(socket: WebSocket, command: ExecCommand): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(command));
}

function replyOf(text: string): ExecReply | undefined {
  const parsed = execReplySchema.safeParse(fromJson(text));
  return parsed.success ? parsed.data : undefined;
}
