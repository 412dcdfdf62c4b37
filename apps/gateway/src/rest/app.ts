import { emptySchema, newRowId, type Principal, SandboxerError } from "@sandboxer/contract";
import type { Once } from "@sandboxer/core";
import { type Context, Hono } from "hono";
import type { Log } from "../log.ts";
import { whenOver } from "../observe/ending.ts";
import { readJson } from "./body.ts";
import { check, queryOf } from "./check.ts";
import { allowReading, preflightAnswer } from "./cross-origin.ts";
import { createReport, failureAnswer, type Report } from "./failure.ts";
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
type Environment = { Variables: { facts: Facts } };

/** HTTP in front of core: every request is named, guarded, checked, answered and logged here. */
export function createApp(ground: Ground, log: Log, allowed: Allowed = {}): Hono<Environment> {
  const app = new Hono<Environment>();

  app.use(async (context, next) => {
    const requestId = newRowId("req");
    const startedAt = performance.now();
    const facts: Facts = { requestId, report: createReport(log, requestId) };
    context.set("facts", facts);
    const settled = refuse(context.req.raw, allowed, facts) ?? preflightAnswer(context.req.raw);
    if (settled) context.res = settled;
    else await next();
    context.res.headers.set("x-request-id", requestId);
    guardAnswer(context.res.headers);
    allowReading(context.req.raw, context.res.headers, allowed);
    if (facts.leave) whenOver(context.res, facts.leave);
    const { keyId, code, route = "none" } = facts;
    const { method, path } = context.req;
    const { status } = context.res;
    const tookMs = performance.now() - startedAt;
    ground.meters.observe({ method, route, status, seconds: tookMs / 1_000 });
    const durationMs = Math.round(tookMs * 1000) / 1000;
    log({ level: "info", event: "request", requestId, method, path, status, durationMs, keyId, code });
  });

  for (const route of ground.routes) {
    app.on(route.method, route.path.replace(/\{(\w+)\}/g, ":$1"), (context) =>
      answer(route, ground, context),
    );
  }

  const fail = (error: unknown, context: Context<Environment>) => {
    const facts = context.get("facts");
    const body = facts.report(error);
    facts.code = body.code;
    return failureAnswer(body);
  };
  app.onError(fail);
  app.notFound((context) => fail(new SandboxerError("not_found", "there is no such route"), context));
  return app;
}

/** No answer is ever a page but the reference, which brings a policy of its own; none may be framed. */
function guardAnswer(headers: Headers): void {
  headers.set("x-content-type-options", "nosniff");
  if (!headers.has("content-security-policy")) {
    headers.set("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox");
  }
}

function refuse(request: Request, allowed: Allowed, facts: Facts): Response | undefined {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const refusal = refusalOf(request.headers, allowed, host);
  if (!refusal) return undefined;
  facts.code = refusal.error.code;
  return failureAnswer(facts.report(refusal.error), refusal.status);
}

async function answer(route: Route, ground: Ground, context: Context<Environment>): Promise<Response> {
  const request = context.req.raw;
  const facts = context.get("facts");
  facts.route = route.path;
  let principal: Principal | undefined;
  if (route.operation !== "public") {
    principal = await authenticate(ground.core, request.headers);
    facts.keyId = principal.keyId;
    const leave = ground.limits?.enter(principal.keyId);
    if (leave) facts.leave = leave;
  }
  const given = await route.handle({
    ...ground,
    report: facts.report,
    principal: principal as never,
    once: onceOf(request.headers),
    lastEventId: request.headers.get("last-event-id") ?? undefined,
    params: (route.params && check(route.params, context.req.param(), "path")) as never,
    query: check(route.query ?? emptySchema, queryOf(request.url), "query") as never,
    body: (await bodyOf(route, request)) as never,
  });
  if (route.answer.type === "json") return Response.json(given, { status: route.answer.status });
  const { answer } = route;
  const type = answer.type === "text" ? answer.contentType : CONTENT_TYPES[answer.type];
  const { body, headers } = given as Given;
  return new Response(body, { headers: { "cache-control": "no-store", ...headers, "content-type": type } });
}

const CONTENT_TYPES = {
  ndjson: "application/x-ndjson",
  sse: "text/event-stream",
  bytes: "application/octet-stream",
} as const;

function onceOf(headers: Headers): Once {
  const idempotencyKey = headers.get("idempotency-key");
  return idempotencyKey === null ? {} : { idempotencyKey };
}

async function bodyOf(route: Route, request: Request): Promise<unknown> {
  if (route.body === "bytes") return request.body ?? new ReadableStream({ start: (empty) => empty.close() });
  return route.body && check(route.body, await readJson(request), "body");
}
