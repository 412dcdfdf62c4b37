import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Answered, type App, type Body, pulledFrom } from "./exchange.ts";
import { askedOf, discardRest } from "./incoming.ts";
import { whenOver } from "./when-over.ts";

/** Each write wakes the client's process, which costs more than most answers take to make. */
const HEAD_ALONE_AFTER_MS = 4;

/** One request of Node's, answered by the app. */
export async function respond(app: App, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  let answered: Answered | undefined;
  try {
    const asked = askedOf(incoming);
    if (!asked) return void outgoing.writeHead(400).end();
    answered = await app(asked);
    const { status, headers, body } = answered;
    if (typeof body === "string") {
      outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
    } else {
      outgoing.writeHead(status, headers);
      if (body) await send(body, outgoing);
      else outgoing.end();
    }
    discardRest(incoming);
  } catch {
    // The answer had begun, or there is nobody to read it. A cut connection says that it is not whole.
    outgoing.destroy();
  } finally {
    answered?.over?.();
  }
}

/** Reads the body only as fast as the client takes it, and lets go of it when the client leaves. */
async function send(body: Exclude<Body, string>, outgoing: ServerResponse): Promise<void> {
  const pulled = pulledFrom(body);
  const leave = () => pulled.cancel();
  whenOver(outgoing, leave);
  // What is there soon leaves together with the head; a head alone does not wait for long.
  const flushing = setTimeout(() => outgoing.flushHeaders(), HEAD_ALONE_AFTER_MS);
  try {
    for (let part = await pulled.next(); part; part = await pulled.next()) {
      if (!outgoing.write(part) && !outgoing.destroyed) await room(outgoing);
    }
  } finally {
    clearTimeout(flushing);
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
