import type { Allowed } from "./guard.ts";

const METHODS = "GET, POST, PUT, DELETE";
const ASKED = "authorization, content-type, idempotency-key, last-event-id, sandboxer-attachment";
const TOLD =
  "x-request-id, retry-after, x-sandboxer-size, x-sandboxer-mode, x-sandboxer-mtime-ms, x-sandboxer-connection";
const REMEMBERED_SECONDS = "600";

/** A browser's question whether a page of an allowed origin may ask. No other gets as far. */
export function preflightAnswer({ method, headers }: Request): Response | undefined {
  if (method !== "OPTIONS" || !headers.has("origin") || !headers.has("access-control-request-method")) {
    return undefined;
  }
  const answer = new Response(null, { status: 204 });
  answer.headers.set("access-control-allow-methods", METHODS);
  answer.headers.set("access-control-allow-headers", ASKED);
  answer.headers.set("access-control-max-age", REMEMBERED_SECONDS);
  if (headers.has("access-control-request-private-network")) {
    answer.headers.set("access-control-allow-private-network", "true");
  }
  return answer;
}

/** Pages of an allowed origin may read the answer; keys go in a header, so no cookie is ever asked for. */
export function allowReading(request: Request, answer: Headers, { origins = [] }: Allowed): void {
  const origin = request.headers.get("origin");
  if (origin === null || !origins.includes(origin)) return;
  answer.set("access-control-allow-origin", origin);
  answer.set("access-control-expose-headers", TOLD);
  answer.append("vary", "origin");
}
