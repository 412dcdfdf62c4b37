import { SandboxerError } from "@sandboxer/contract";
import type { Desk } from "../desk.ts";
import type { Exchange } from "../exchange.ts";
import { tellUse, tellVariables } from "./about.ts";
import { admit } from "./admit.ts";
import { compose } from "./compose.ts";
import { download } from "./download.ts";
import { filesystemRpcs } from "./filesystem.ts";
import { serveHealth } from "./health.ts";
import { processRpcs } from "./processes.ts";
import { type Rpc, serveRpc } from "./rpc.ts";
import { upload } from "./upload.ts";
import type { Visit } from "./visit.ts";
import { watchRpcs } from "./watch-rpcs.ts";

const RPCS: Readonly<Record<string, Rpc>> = { ...processRpcs, ...filesystemRpcs, ...watchRpcs };

const PLAIN: Readonly<Record<string, (visit: Visit) => Promise<void> | void>> = {
  "GET /health": ({ outgoing }) => void outgoing.writeHead(204).end(),
  "GET /files": download,
  "HEAD /files": download,
  "POST /files": upload,
  "POST /files/compose": compose,
  "GET /envs": tellVariables,
  "GET /metrics": tellUse,
};

const METHODS: Readonly<Record<string, string>> = {
  "/health": "GET",
  "/files": "GET, POST",
  "/files/compose": "POST",
  "/envs": "GET",
  "/metrics": "GET",
};

/** What E2B's daemon inside a sandbox answers, answered by this gateway. */
export async function serveEnvd(exchange: Exchange, desk: Desk, sandboxId: string): Promise<void> {
  const { incoming, url, facts } = exchange;
  const isHealth = incoming.method === "GET" && url.pathname === "/health";
  if (isHealth && (await serveHealth(exchange, sandboxId))) return;
  const visit = await admit(exchange, desk, sandboxId);
  const rpc = Object.hasOwn(RPCS, url.pathname) ? RPCS[url.pathname] : undefined;
  if (rpc && incoming.method === "POST") {
    facts.route = `e2b ${url.pathname}`;
    return serveRpc(rpc, visit);
  }
  const name = `${incoming.method} ${url.pathname}`;
  const plain = Object.hasOwn(PLAIN, name) ? PLAIN[name] : undefined;
  const allow = rpc ? "POST" : Object.hasOwn(METHODS, url.pathname) && METHODS[url.pathname];
  if (!plain && allow) return void exchange.outgoing.writeHead(405, { allow, "content-length": 0 }).end();
  if (!plain) throw new SandboxerError("not_found", "this gateway has no such route");
  facts.route = `e2b envd ${url.pathname}`;
  await plain(visit);
}
