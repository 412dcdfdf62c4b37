import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { SandboxerError } from "@sandboxer/contract";
import type { Previews } from "./previews/previews.ts";
import { bodyOf, discardRest } from "./request-body.ts";
import type { Sockets } from "./sockets/upgrade.ts";

export interface Listen {
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
}

export interface Server {
  readonly url: string;
  /** Takes nothing new, lets what is under way finish for a while, then ends it. */
  close(): Promise<void>;
}

type Fetch = (request: Request) => Promise<Response>;

const GRACE_MS = 5_000;
/** Until there is TLS, keys do not leave this machine. */
const LOOPBACK_HOSTS = ["127.0.0.1", "::1", "localhost"];

/** Who answers: requests, and connections that want to be WebSockets. */
export interface Answering {
  readonly fetch: Fetch;
  readonly sockets?: Sockets;
  readonly previews?: Previews;
}

export async function listen(
  { fetch, sockets, previews }: Answering,
  { host, port }: Listen,
): Promise<Server> {
  if (!LOOPBACK_HOSTS.includes(host)) {
    throw new SandboxerError("invalid_request", `the gateway listens on loopback only, not on ${host}`);
  }
  let closing = false;
  // Counted here: Node takes a connection that has not asked anything yet for a busy one.
  const idle = new Set<Socket>();
  const server = createServer((incoming, outgoing) => {
    const { socket } = incoming;
    idle.delete(socket);
    outgoing.once("close", () => {
      if (closing) socket.end();
      else if (!socket.destroyed) idle.add(socket);
    });
    if (closing) outgoing.setHeader("connection", "close");
    const preview = previews?.find(incoming);
    void (preview ? previews?.serve(preview, incoming, outgoing) : respond(fetch, incoming, outgoing));
  });
  server.on("connection", (socket: Socket) => {
    idle.add(socket);
    socket.once("close", () => idle.delete(socket));
  });
  const upgraded = new Set<Duplex>();
  server.on("upgrade", (incoming, socket, head) => {
    idle.delete(incoming.socket);
    if (!sockets || closing) return socket.destroy();
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    socket.on("error", () => socket.destroy());
    const preview = previews?.find(incoming);
    if (preview) void previews?.upgrade(preview, incoming, socket, head);
    else sockets.upgrade(incoming, socket, head);
  });
  // Uploads and input streams take as long as they take; headers still have a minute.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 65_000;
  server.listen(port, host);
  await once(server, "listening").catch((cause) => {
    throw new SandboxerError(
      "conflict",
      `cannot listen on ${host} port ${port}: ${cause.code ?? cause.message}`,
      {
        hint: "Choose another with --port or SANDBOXER_PORT.",
        cause,
      },
    );
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`,
    async close() {
      closing = true;
      const timer = setTimeout(() => {
        server.closeAllConnections();
        for (const socket of upgraded) socket.destroy();
      }, GRACE_MS);
      const closed = new Promise((resolve) => server.close(resolve));
      sockets?.close();
      for (const socket of idle) socket.destroy();
      await closed;
      clearTimeout(timer);
    },
  };
}

async function respond(fetch: Fetch, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  try {
    const request = requestOf(incoming);
    if (!request) return void outgoing.writeHead(400).end();
    const response = await fetch(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body) await send(response.body, outgoing);
    else outgoing.end();
    discardRest(incoming);
  } catch {
    // The answer had begun, or there is nobody to read it. A cut connection says that it is not whole.
    outgoing.destroy();
  }
}

function requestOf(incoming: IncomingMessage): Request | undefined {
  const { method = "GET", url = "" } = incoming;
  if (!url.startsWith("/") || ["CONNECT", "TRACE", "TRACK"].includes(method)) return undefined;
  const headers = new Headers();
  for (let at = 0; at + 1 < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] as string, incoming.rawHeaders[at + 1] as string);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  const body = hasBody ? { body: bodyOf(incoming), duplex: "half" } : {};
  // The name in Host is checked as a header; as part of an address it could not even be parsed.
  return new Request(`http://localhost${url}`, { method, headers, ...body });
}

/** Reads the body only as fast as the client takes it, and lets go of it when the client leaves. */
async function send(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  outgoing.once("close", leave);
  outgoing.flushHeaders();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (!outgoing.write(value) && !outgoing.destroyed) await room(outgoing);
  }
  outgoing.off("close", leave);
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
