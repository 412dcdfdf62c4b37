import type { Answered, Asked } from "../exchange.ts";
import type { Allowed } from "./guard.ts";

const METHODS = "GET, POST, PUT, DELETE";
const ASKED = "authorization, content-type, idempotency-key, last-event-id, sandboxer-attachment";
const TOLD =
  "x-request-id, retry-after, x-sandboxer-size, x-sandboxer-mode, x-sandboxer-mtime-ms, x-sandboxer-connection";
const REMEMBERED_SECONDS = "600";

/** A browser's question whether a page of an allowed origin may ask. No other gets as far. */
export function preflightAnswer({ method, headers }: Asked): Answered | undefined {
  if (method !== "OPTIONS" || !headers.has("origin") || !headers.has("access-control-request-method")) {
    return undefined;
  }
  const isOfPrivateNetwork = headers.has("access-control-request-private-network");
  return {
    status: 204,
    headers: {
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": ASKED,
      "access-control-max-age": REMEMBERED_SECONDS,
      ...(isOfPrivateNetwork && { "access-control-allow-private-network": "true" }),
    },
  };
}

/** Pages of an allowed origin may read the answer; keys go in a header, so no cookie is ever asked for. */
export function allowReading(
  asked: Asked["headers"],
  { origins = [] }: Allowed,
): Readonly<Record<string, string>> {
  const origin = asked.get("origin");
  if (origin === null || !origins.includes(origin)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": TOLD,
    vary: "origin",
  };
}
