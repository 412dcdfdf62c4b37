import type { WebSocket } from "ws";

export type Hear = (message: Buffer, isBinary: boolean) => void;

/** What a client says, in its order, also while nobody hears it yet: it need not wait for its command to start. */
export interface Inbox {
  /** The next message, as soon as there is one. */
  next(): Promise<Parameters<Hear>>;
  /** Everything else from now on, and first what waits. */
  hand(hear: Hear): void;
}

/** More than `mostBytes` that nobody hears calls `overflow`. */
export function collect(socket: WebSocket, mostBytes: number, overflow: () => void): Inbox {
  const waiting: Parameters<Hear>[] = [];
  let waitingBytes = 0;
  let hear: Hear = (message, isBinary) => {
    waitingBytes += message.length;
    if (waitingBytes > mostBytes) return overflow();
    waiting.push([message, isBinary]);
    arrived();
  };
  let arrived = () => {};
  socket.on("message", (message: Buffer, isBinary) => hear(message, isBinary));

  return {
    async next() {
      while (waiting.length === 0) await new Promise<void>((resolve) => (arrived = resolve));
      const [first] = waiting.splice(0, 1) as [Parameters<Hear>];
      waitingBytes -= first[0].length;
      return first;
    },
    hand(next) {
      hear = next;
      for (const [message, isBinary] of waiting.splice(0)) next(message, isBinary);
    },
  };
}
