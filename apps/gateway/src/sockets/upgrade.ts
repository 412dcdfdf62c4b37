import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  ATTACHMENT_PROTOCOL_PREFIX,
  ERRORS,
  EXEC_MESSAGE_BYTES,
  EXEC_PROTOCOL,
  KEY_PROTOCOL_PREFIX,
  nameSchema,
  newRowId,
  SandboxerError,
} from "@sandboxer/contract";
import { type WebSocket, WebSocketServer } from "ws";
import type { Log } from "../log.ts";
import { createReport, type Report } from "../rest/failure.ts";
import { noSuchRoute } from "../rest/find-route.ts";
import { type Allowed, authenticate, refusalOf } from "../rest/guard.ts";
import type { Ground } from "../rest/route.ts";
import { whenOver } from "../when-over.ts";
import { serveExecSocket } from "./exec-socket.ts";
import { refuseUpgrade } from "./refuse.ts";

const EXEC_PATH = /^\/v1\/sandboxes\/([^/]+)\/exec$/;
const PING_EVERY_MS = 30_000;
const GOING_AWAY = 1001;
/** The frame's head, and room for a long message of ours. */
const HEAD_BYTES = 64;

interface Asking {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface Sockets {
  /** Takes over a connection that asks to become a WebSocket. */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): void;
}

/** WebSockets pass the same guard as requests, and are refused before they are accepted. */
export function createSockets(ground: Ground, log: Log, allowed: Allowed): Sockets {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: EXEC_MESSAGE_BYTES + HEAD_BYTES,
    perMessageDeflate: false,
    // The key is among what is offered, and must not come back.
    handleProtocols: () => EXEC_PROTOCOL,
  });

  async function accept(
    { incoming, socket, head }: Asking,
    headers: Headers,
    report: Report,
  ): Promise<string> {
    const principal = await authenticate(ground.core, headers);
    const sandbox = sandboxOf(incoming.url ?? "");
    // Told before it is accepted, as any request is: all that can be said here starts or follows a command.
    await ground.core.admit(principal, "sandbox.exec", sandbox);
    if (!offersOf(headers).includes(EXEC_PROTOCOL)) {
      throw new SandboxerError("invalid_request", `a WebSocket here speaks ${EXEC_PROTOCOL}`);
    }
    refuseMalformed(incoming);
    const leave = ground.limits?.enter(principal.keyId);
    if (leave) whenOver(socket, leave);
    server.handleUpgrade(incoming, socket, head, (webSocket) => {
      keepAlive(webSocket);
      void serveExecSocket(webSocket, { ground, principal, sandbox, report });
    });
    return principal.keyId;
  }

  return {
    upgrade(incoming, socket, head) {
      const requestId = newRowId("req");
      const report = createReport(log, requestId);
      const path = (incoming.url ?? "").split("?")[0];
      const tell = (status: number, more: object) =>
        log({ level: "info", event: "request", requestId, method: "WEBSOCKET", path, status, ...more });
      const headers = headersOf(incoming);
      const refusal = refusalOf(headers, allowed);
      const accepted = refusal
        ? Promise.reject(refusal.error)
        : accept({ incoming, socket, head }, headers, report);
      accepted.then(
        (keyId) => tell(101, { keyId }),
        (error) => {
          const body = report(error);
          const status = refusal?.status ?? ERRORS[body.code].status;
          tell(status, { code: body.code });
          refuseUpgrade(socket, status, { error: body });
        },
      );
    },
    close() {
      for (const webSocket of server.clients) webSocket.close(GOING_AWAY, "the gateway is leaving");
    },
  };
}

/** What the server would answer by itself, without a word of ours and after the log has it as accepted. */
function refuseMalformed({ method, headers }: IncomingMessage): void {
  const wrong = (what: string) => {
    throw new SandboxerError("invalid_request", `that is no opening of a WebSocket: ${what}`);
  };
  if (method !== "GET") wrong("its method is GET");
  if (headers["sec-websocket-version"] !== "13") wrong("Sec-WebSocket-Version is 13");
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? ""))
    wrong("Sec-WebSocket-Key is 16 bytes in base64");
}

function headersOf(incoming: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
  const offers = offersOf(headers);
  const attachment = offers.find((one) => one.startsWith(ATTACHMENT_PROTOCOL_PREFIX));
  if (attachment) headers.set("sandboxer-attachment", attachment.slice(ATTACHMENT_PROTOCOL_PREFIX.length));
  const key = offers.find((one) => one.startsWith(KEY_PROTOCOL_PREFIX));
  if (key && !headers.has("authorization")) {
    const text = Buffer.from(key.slice(KEY_PROTOCOL_PREFIX.length), "base64url").toString("latin1");
    if (/^[\x21-\x7e]+$/.test(text)) headers.set("authorization", `Bearer ${text}`);
  }
  return headers;
}

function offersOf(headers: Headers): string[] {
  return (headers.get("sec-websocket-protocol") ?? "").split(",").map((one) => one.trim());
}

function sandboxOf(url: string): string {
  const parsed = nameSchema.safeParse(EXEC_PATH.exec(url.split("?")[0] ?? "")?.[1]);
  if (parsed.success) return parsed.data;
  throw noSuchRoute();
}

/** A client that went without a word is noticed by its silence. */
function keepAlive(socket: WebSocket): void {
  let heard = true;
  const timer = setInterval(() => {
    if (!heard) return socket.terminate();
    heard = false;
    socket.ping();
  }, PING_EVERY_MS);
  socket.on("pong", () => {
    heard = true;
  });
  socket.on("error", () => socket.terminate());
  socket.once("close", () => clearInterval(timer));
}
