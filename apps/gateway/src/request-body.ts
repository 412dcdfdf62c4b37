import type { IncomingMessage } from "node:http";

/** How much of a body that nobody wants is read, so that the connection can be used again. */
const MOST_UNWANTED_BYTES = 64 << 20;

/** A request's body, read only as fast as it is taken. Who leaves early leaves the connection alone. */
export function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const iterator = incoming.iterator({ destroyOnReturn: false });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value as Uint8Array);
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The answer is out. What is left of the body stands before the connection's next request. */
export function discardRest(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.destroyed) return;
  let unwanted = 0;
  incoming.on("data", (chunk: Uint8Array) => {
    unwanted += chunk.length;
    if (unwanted > MOST_UNWANTED_BYTES) incoming.socket.destroy();
  });
  incoming.resume();
}
