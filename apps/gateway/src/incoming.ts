import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Asked } from "./exchange.ts";

/** How much of a body that nobody wants is read, so that the connection can be used again. */
const MOST_UNWANTED_BYTES = 64 << 20;

/** A request as the app takes it; nothing for what is none. */
export function askedOf(incoming: IncomingMessage): Asked | undefined {
  const { method = "GET", url = "" } = incoming;
  if (!url.startsWith("/") || ["CONNECT", "TRACE", "TRACK"].includes(method)) return undefined;
  // Twice the same header counts as both together, never as the first: others could take the second.
  const get = (name: string) => incoming.headersDistinct[name]?.join(", ") ?? null;
  let body: ReadableStream<Uint8Array> | null | undefined;
  return {
    method,
    // The name in Host is checked as a header; as part of an address it could not even be parsed.
    url: `http://localhost${url}`,
    headers: { get, has: (name) => get(name) !== null },
    get body() {
      body ??= method === "GET" || method === "HEAD" ? null : bodyOf(incoming);
      return body;
    },
    whole: (atMost) => wholeOf(incoming, atMost),
  };
}

/** A request's body, read only as fast as it is taken. Who leaves early leaves the connection alone. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
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

/** Nothing where it is more than may be. */
export function wholeOf(incoming: IncomingMessage, atMost: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    const leave = () => incoming.off("data", take).off("end", end).off("error", fail).off("close", cut);
    const take = (part: Uint8Array) => {
      bytes += part.length;
      parts.push(part);
      if (bytes <= atMost) return;
      leave().pause();
      resolve(undefined);
    };
    const end = () => {
      leave();
      resolve(parts.length === 1 ? parts[0] : Buffer.concat(parts));
    };
    const fail = (error: Error) => {
      leave();
      reject(error);
    };
    const cut = () => fail(new Error("the client left before its request was whole"));
    incoming.on("data", take).on("end", end).on("error", fail).on("close", cut);
  });
}

/** The answer is out. What is left of the body stands before the connection's next request. */
export function discardRest(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.destroyed) return;
  let unwanted = 0;
  // While a reader that failed half-way still listens for it, nothing flows.
  incoming.removeAllListeners("readable");
  incoming.on("data", (chunk: Uint8Array) => {
    unwanted += chunk.length;
    if (unwanted > MOST_UNWANTED_BYTES) incoming.socket.destroy();
  });
  incoming.resume();
}
