import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ERRORS, newRowId, SandboxerError } from "@sandboxer/contract";
import type { Log } from "../log.ts";
import { createReport, type ErrorBody } from "../rest/failure.ts";
import { type Allowed, refusalOfHost } from "../rest/guard.ts";
import type { Ground } from "../rest/route.ts";
import { refuseUpgrade } from "../sockets/refuse.ts";
import { whenOver } from "../when-over.ts";
import type { PreviewAddress } from "./address.ts";
import { inwards, outwards } from "./headers.ts";
import { tunnelOf } from "./tunnel.ts";
import { admit, type Openly, type Visit } from "./visit.ts";

/** Ports inside sandboxes, for browsers. A request that asks for one never reaches the API. */
export interface Previews {
  find(incoming: IncomingMessage): PreviewAddress | undefined;
  serve(address: PreviewAddress, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void>;
  upgrade(address: PreviewAddress, incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

interface Asking {
  readonly address: PreviewAddress;
  readonly visit: Visit;
  readonly incoming: IncomingMessage;
}

interface PreviewsOptions {
  readonly allowed: Allowed;
  readonly openly?: Openly;
}

export function createPreviews(
  { core, previews: { place }, limits }: Ground,
  log: Log,
  { allowed, openly }: PreviewsOptions,
): Previews {
  /** Asks the port inside, with nothing of ours. */
  async function ask({ address, visit, incoming }: Asking, more: object): Promise<ClientRequest> {
    const { principal, sandboxId, port } = visit.entry;
    const tunnel = tunnelOf(await core.dial(principal, sandboxId, port));
    const host = address.kind === "host" ? incoming.headers.host : `localhost:${port}`;
    const headers = inwards(incoming.headers, { host, connection: "close", ...more });
    const path = "location" in visit ? visit.location : address.rest;
    return request({ method: incoming.method, path, headers, createConnection: () => tunnel });
  }

  return {
    find: ({ headers, url = "" }) => place.find(headers.host ?? "", url),

    async serve(address, incoming, outgoing) {
      const { tell, report } = begin(log, address.kind, incoming);
      const refusal = foreign(address, incoming, allowed);
      if (refusal) {
        tell(refusal.status, { code: refusal.error.code });
        return refuse(outgoing, report(refusal.error), refusal.status);
      }
      try {
        const visit = await admit(core, address, incoming);
        if ("cookie" in visit) {
          tell(303);
          const headers = {
            location: visit.location,
            "set-cookie": visit.cookie,
            "cache-control": "no-store",
          };
          return void outgoing.writeHead(303, { ...headers, "referrer-policy": "no-referrer" }).end();
        }
        const leave = limits?.enter(visit.entry.principal.keyId);
        if (leave) whenOver(outgoing, leave);
        const asking = await ask({ address, visit, incoming }, framing(incoming));
        whenOver(outgoing, () => asking.destroy());
        const answered = answerOf(asking);
        pipeline(incoming, asking).catch(() => {});
        const answer = await answered;
        tell(answer.statusCode ?? 0, { sandbox: visit.entry.sandboxId, port: visit.entry.port });
        outgoing.writeHead(answer.statusCode ?? 502, outwards(answer.headers, address.kind));
        await pipeline(answer, outgoing);
      } catch (error) {
        const body = report(translate(error));
        tell(ERRORS[body.code].status, { code: body.code });
        refuse(outgoing, body);
      }
    },

    async upgrade(address, incoming, socket, head) {
      const { tell, report } = begin(log, address.kind, incoming);
      const refusal = foreign(address, incoming, allowed);
      if (refusal) {
        tell(refusal.status, { code: refusal.error.code });
        return refuseUpgrade(socket, refusal.status, { error: report(refusal.error) });
      }
      try {
        const visit = await admit(core, address, incoming, openly);
        const leave = limits?.enter(visit.entry.principal.keyId);
        if (leave) whenOver(socket, leave);
        const upgrade = { connection: "Upgrade", upgrade: incoming.headers.upgrade };
        const asking = await ask({ address, visit, incoming }, upgrade);
        const { answer, far, first } = await upgradeOf(asking);
        tell(101);
        socket.write(headOf(answer, outwards(answer.headers, address.kind)));
        socket.write(first);
        far.write(head);
        // Each direction listens for every kind of end, beside the server itself.
        socket.setMaxListeners(20);
        await Promise.all([pipeline(socket, far), pipeline(far, socket)]);
      } catch (error) {
        const body = report(translate(error));
        tell(ERRORS[body.code].status, { code: body.code });
        refuseUpgrade(socket, ERRORS[body.code].status, { error: body });
      }
    },
  };
}

/** What is told and reported of one request. */
function begin(log: Log, kind: string, { method }: IncomingMessage) {
  const requestId = newRowId("req");
  const tell = (status: number, more: object = {}) =>
    log({ level: "info", event: "preview", requestId, kind, method, status, ...more });
  return { tell, report: createReport(log, requestId) };
}

/** A name of a preview's own is checked by having been found; a path is asked for by one of ours. */
function foreign({ kind }: PreviewAddress, { headers }: IncomingMessage, allowed: Allowed) {
  return kind === "path" ? refusalOfHost(headers.host ?? "", allowed) : undefined;
}

/** The body goes on as it came: with its length, or in pieces. */
function framing({ headers }: IncomingMessage): object {
  return headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" };
}

function answerOf(asking: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => asking.once("response", resolve).once("error", reject));
}

function upgradeOf(asking: ClientRequest): Promise<{ answer: IncomingMessage; far: Duplex; first: Buffer }> {
  return new Promise((resolve, reject) => {
    asking.once("upgrade", (answer, far, first) => resolve({ answer, far, first }));
    asking.once("response", (answer) => {
      answer.resume();
      reject(new SandboxerError("conflict", "what listens there takes no WebSocket on this path"));
    });
    asking.once("error", reject).end();
  });
}

function headOf({ rawHeaders }: IncomingMessage, passed: ReturnType<typeof outwards>): string {
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Connection: Upgrade",
    `Upgrade: ${upgradeIn(rawHeaders)}`,
  ];
  for (const [name, value] of Object.entries(passed)) {
    for (const one of [value].flat()) lines.push(`${name}: ${one}`);
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function upgradeIn(rawHeaders: readonly string[]): string {
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === "upgrade");
  return rawHeaders[at + 1] ?? "websocket";
}

/** What the program inside did wrong is not this gateway's defect. */
function translate(error: unknown): SandboxerError {
  if (SandboxerError.is(error)) return error;
  return new SandboxerError("extension_failed", "what listens there did not answer as HTTP", {
    cause: error,
  });
}

function refuse(
  outgoing: ServerResponse,
  error: ErrorBody,
  status: number = ERRORS[error.code].status,
): void {
  if (outgoing.headersSent) return void outgoing.destroy();
  const headers = { "content-type": "application/json", "content-security-policy": "default-src 'none'" };
  outgoing.writeHead(status, headers).end(JSON.stringify({ error }));
}
