import { emptySchema, newRowId, type Principal } from "@sandboxer/contract";
import type { Once } from "@sandboxer/core";
import { type Answered, type App, type Asked, pulledFrom } from "../exchange.ts";
import type { Log } from "../log.ts";
import { readJson } from "./body.ts";
import { check, queryOf } from "./check.ts";
import { allowReading, preflightAnswer } from "./cross-origin.ts";
import { createReport, failureAnswer, type Report } from "./failure.ts";
import { createFindRoute, noSuchRoute } from "./find-route.ts";
import { type Allowed, authenticate, refusalOf } from "./guard.ts";
import type { Given, Ground, Route } from "./route.ts";

type Facts = {
  readonly requestId: string;
  readonly report: Report;
  route?: string;
  keyId?: string;
  code?: string;
  leave?: () => void;
};

/** No answer is ever a page but the reference, which brings a policy of its own; none may be framed. */
const GUARDING = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
};

/** HTTP in front of core: every request is named, guarded, checked, answered and logged here. */
export function createApp(ground: Ground, log: Log, allowed: Allowed = {}): App {
  const findRoute = createFindRoute(ground.routes);

  async function answerTo(asked: Asked, url: URL, facts: Facts): Promise<Answered> {
    try {
      const settled = refuse(asked, url, allowed, facts) ?? preflightAnswer(asked);
      if (settled) return settled;
      const { method } = asked;
      const found = findRoute(method === "HEAD" ? "GET" : method, url.pathname);
      if (!found) throw noSuchRoute();
      const answered = await answer(found, ground, { asked, url, facts });
      return method === "HEAD" ? withoutBody(answered) : answered;
    } catch (error) {
      const body = facts.report(error);
      facts.code = body.code;
      return failureAnswer(body);
    }
  }

  return async (asked) => {
    const requestId = newRowId("req");
    const startedAt = performance.now();
    const facts: Facts = { requestId, report: createReport(log, requestId) };
    const url = new URL(asked.url);
    const answered = await answerTo(asked, url, facts);
    const { status } = answered;
    const headers = {
      ...GUARDING,
      ...answered.headers,
      ...allowReading(asked.headers, allowed),
      "x-request-id": requestId,
    };
    const { keyId, code, route = "none", leave } = facts;
    const { method } = asked;
    const tookMs = performance.now() - startedAt;
    ground.meters.observe({ method, route, status, seconds: tookMs / 1_000 });
    const durationMs = Math.round(tookMs * 1000) / 1000;
    const path = url.pathname;
    log({ level: "info", event: "request", requestId, method, path, status, durationMs, keyId, code });
    return { ...answered, headers, ...(leave && { over: leave }) };
  };
}

function refuse(asked: Asked, url: URL, allowed: Allowed, facts: Facts): Answered | undefined {
  const refusal = refusalOf(asked.headers, allowed, asked.headers.get("host") ?? url.host);
  if (!refusal) return undefined;
  facts.code = refusal.error.code;
  return failureAnswer(facts.report(refusal.error), refusal.status);
}

interface Asking {
  readonly asked: Asked;
  readonly url: URL;
  readonly facts: Facts;
}

async function answer(
  { route, params }: { route: Route; params: Readonly<Record<string, string>> },
  ground: Ground,
  { asked, url, facts }: Asking,
): Promise<Answered> {
  facts.route = route.path;
  let principal: Principal | undefined;
  if (route.operation !== "public") {
    principal = await authenticate(ground.core, asked.headers);
    facts.keyId = principal.keyId;
    const leave = ground.limits?.enter(principal.keyId);
    if (leave) facts.leave = leave;
  }
  const given = await route.handle({
    ...ground,
    report: facts.report,
    principal: principal as never,
    once: onceOf(asked.headers),
    lastEventId: asked.headers.get("last-event-id") ?? undefined,
    params: (route.params && check(route.params, params, "path")) as never,
    query: check(route.query ?? emptySchema, queryOf(url), "query") as never,
    body: (await bodyOf(route, asked)) as never,
  });
  if (route.answer.type === "json") {
    const headers = { "content-type": "application/json" };
    return { status: route.answer.status, headers, body: JSON.stringify(given) };
  }
  const type = route.answer.type === "text" ? route.answer.contentType : CONTENT_TYPES[route.answer.type];
  const { body, headers } = given as Given;
  return { status: 200, headers: { "cache-control": "no-store", ...headers, "content-type": type }, body };
}

const CONTENT_TYPES = {
  ndjson: "application/x-ndjson",
  sse: "text/event-stream",
  bytes: "application/octet-stream",
} as const;

function withoutBody({ status, headers, body }: Answered): Answered {
  if (typeof body === "object") pulledFrom(body).cancel();
  return { status, headers };
}

function onceOf(headers: Asked["headers"]): Once {
  const idempotencyKey = headers.get("idempotency-key");
  return idempotencyKey === null ? {} : { idempotencyKey };
}

async function bodyOf(route: Route, asked: Asked): Promise<unknown> {
  if (route.body === "bytes") return asked.body ?? new ReadableStream({ start: (empty) => empty.close() });
  return route.body && check(route.body, await readJson(asked), "body");
}
