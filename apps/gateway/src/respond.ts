import type { IncomingMessage, ServerResponse } from "node:http";
import { isOver } from "./observe/ending.ts";
import { bodyOf, discardRest } from "./request-body.ts";

export type Fetch = (request: Request) => Promise<Response>;

/** One request of Node's, answered by a `fetch`. */
export async function respond(
  fetch: Fetch,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  let response: Response | undefined;
  try {
    const request = requestOf(incoming);
    if (!request) return void outgoing.writeHead(400).end();
    response = await fetch(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body) await send(response.body, outgoing);
    else outgoing.end();
    discardRest(incoming);
  } catch {
    // The answer had begun, or there is nobody to read it. A cut connection says that it is not whole.
    outgoing.destroy();
  } finally {
    if (response) isOver(response);
  }
}

function requestOf(incoming: IncomingMessage): Request | undefined {
  const { method = "GET", url = "" } = incoming;
  if (!url.startsWith("/") || ["CONNECT", "TRACE", "TRACK"].includes(method)) return undefined;
  const headers = new Headers();
  for (let at = 0; at + 1 < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] as string, incoming.rawHeaders[at + 1] as string);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  const body = hasBody ? { body: bodyOf(incoming), duplex: "half" } : {};
  // The name in Host is checked as a header; as part of an address it could not even be parsed.
  return new Request(`http://localhost${url}`, { method, headers, ...body });
}

/** Reads the body only as fast as the client takes it, and lets go of it when the client leaves. */
async function send(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  outgoing.once("close", leave);
  // What is there at once leaves together with the head; a head alone does not wait for long.
  const flushing = setImmediate(() => outgoing.flushHeaders());
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (!outgoing.write(value) && !outgoing.destroyed) await room(outgoing);
    }
  } finally {
    clearImmediate(flushing);
    outgoing.off("close", leave);
  }
  outgoing.end();
}

function room(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done).off("close", done);
      resolve();
    };
    outgoing.on("drain", done).on("close", done);
  });
}
