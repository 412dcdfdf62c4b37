import { SandboxerError } from "@sandboxer/contract";
import { check } from "../../rest/check.ts";
import { authenticate } from "../../rest/guard.ts";
import { whenOver } from "../../when-over.ts";
import type { Desk } from "../desk.ts";
import { answerJson, type Exchange, headersOf } from "../exchange.ts";
import { readJsonBody } from "../read-body.ts";
import { CONTROL_ROUTES } from "./table.ts";

/** One call of the control API: found, authenticated, counted, checked, answered. */
export async function serveControl(exchange: Exchange, desk: Desk): Promise<void> {
  const { ground, incoming, outgoing, url, facts } = exchange;
  const principal = await authenticate(ground.core, headersOf(exchange));
  facts.keyId = principal.keyId;
  const leave = ground.limits?.enter(principal.keyId);
  if (leave) whenOver(outgoing, leave);
  const { route, params } = findRoute(incoming.method ?? "", url.pathname);
  facts.route = `e2b ${route.path}`;
  const body = route.body && check(route.body, await readJsonBody(incoming), "body");
  const scheme = "encrypted" in incoming.socket ? "https" : "http";
  const call = {
    core: ground.core,
    desk,
    principal,
    params,
    query: url.searchParams,
    body: body as never,
    origin: `${scheme}://${incoming.headers.host}`,
  };
  const answer = await route.handle(call);
  if (answer.body === undefined) return void outgoing.writeHead(answer.status, { ...answer.headers }).end();
  answerJson(outgoing, answer.status, answer.body, answer.headers);
}

function findRoute(method: string, path: string) {
  for (const route of CONTROL_ROUTES) {
    const found = route.method === method ? route.pattern.exec(path) : null;
    if (found) return { route, params: decoded(found.groups ?? {}) };
  }
  throw new SandboxerError("not_found", "this gateway has no such route");
}

function decoded(groups: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)]));
  } catch {
    throw new SandboxerError("invalid_request", "the path is not encoded as one");
  }
}
