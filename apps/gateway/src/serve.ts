import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { SandboxerError } from "@sandboxer/contract";
import type { App } from "./exchange.ts";
import type { Previews } from "./previews/previews.ts";
import { respond } from "./respond.ts";
import type { Sockets } from "./sockets/upgrade.ts";

export interface Listen {
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
  /** PEM files. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Keys may travel in the clear, anywhere. */
  readonly insecure?: boolean;
}

export interface Server {
  readonly url: string;
  /** Takes nothing new, lets what is under way finish for a while, then ends it. */
  close(): Promise<void>;
}

const GRACE_MS = 5_000;
const LOOPBACK_HOSTS = ["127.0.0.1", "::1", "localhost"];

/** Who answers: requests, and connections that want to be WebSockets. */
export interface Answering {
  readonly app: App;
  readonly sockets?: Sockets;
  readonly previews?: Previews;
}

export async function listen(answering: Answering, at: Listen): Promise<Server> {
  const { app, sockets, previews } = answering;
  const { host, port } = at;
  refuseOpenly(at);
  let closing = false;
  // Counted here: Node takes a connection that has not asked anything yet for a busy one.
  const idle = new Set<Socket>();
  const server = serverFor(at, (incoming, outgoing) => {
    const { socket } = incoming;
    idle.delete(socket);
    outgoing.once("close", () => {
      if (closing) socket.end();
      else if (!socket.destroyed) idle.add(socket);
    });
    if (closing) outgoing.setHeader("connection", "close");
    const preview = previews?.find(incoming);
    void (preview ? previews?.serve(preview, incoming, outgoing) : respond(app, incoming, outgoing));
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
    url: `${at.tls ? "https" : "http"}://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`,
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

/** Without TLS, keys do not leave this machine unless somebody says that they may. */
function refuseOpenly({ host, tls, insecure }: Listen): void {
  if (LOOPBACK_HOSTS.includes(host) || tls || insecure) return;
  throw new SandboxerError("invalid_request", `${host} is not loopback: keys would travel in the clear`, {
    hint: "Give --tls-cert and --tls-key, or --insecure where something in front keeps them secret.",
  });
}

type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

function serverFor({ tls }: Listen, handle: Handle): HttpServer {
  if (!tls) return createServer(handle);
  try {
    const { cert, key } = { cert: readFileSync(tls.cert), key: readFileSync(tls.key) };
    return createSecureServer({ cert, key, minVersion: "TLSv1.2" }, handle);
  } catch (cause) {
    const { message } = cause as Error;
    throw new SandboxerError("invalid_request", `the certificate cannot be used: ${message}`, { cause });
  }
}
