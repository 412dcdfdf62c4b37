import type { IncomingMessage, ServerResponse } from "node:http";
import type { Asked } from "../exchange.ts";
import type { Report } from "../rest/failure.ts";
import type { Ground } from "../rest/route.ts";

/** One request of E2B's clients and its answer. */
export interface Exchange {
  readonly ground: Ground;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly url: URL;
  readonly report: Report;
  /** What the log says of it. */
  readonly facts: { route: string; keyId?: string; code?: string };
}

/** A header that must not be given twice. */
export function header({ incoming }: Pick<Exchange, "incoming">, name: string): string | undefined {
  const value = incoming.headers[name];
  return typeof value === "string" ? value : undefined;
}

/** As the REST API asks for them; one that was given twice is not there. */
export function headersOf(exchange: Pick<Exchange, "incoming">): Asked["headers"] {
  const get = (name: string) => header(exchange, name) ?? null;
  return { get, has: (name) => get(name) !== null };
}

export function answerJson(outgoing: ServerResponse, status: number, body: unknown, more: object = {}): void {
  const text = JSON.stringify(body);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  outgoing.writeHead(status, { ...headers, ...more }).end(text);
}

/** Waits until the client has taken what was written, or has left. */
export function room(outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed || !outgoing.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done).off("close", done);
      resolve();
    };
    outgoing.on("drain", done).on("close", done);
  });
}
