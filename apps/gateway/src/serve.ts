import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { SandboxerError } from "@sandboxer/contract";
import type { E2bFront } from "./e2b/front.ts";
import type { App } from "./exchange.ts";
import { type Certificates, createListener } from "./listener.ts";
import { isLoopback } from "./loopback.ts";
import type { Previews } from "./previews/previews.ts";
import { respond } from "./respond.ts";
import type { Sockets } from "./sockets/upgrade.ts";

export interface Listen extends Certificates {
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
  /** Keys may travel in the clear, anywhere. */
  readonly insecure?: boolean;
}

export interface Server {
  readonly url: string;
  /** Takes nothing new, lets what is under way finish for a while, then ends it. */
  close(): Promise<void>;
}

const GRACE_MS = 5_000;

/** Who answers: requests, and connections that want to be WebSockets. */
export interface Answering {
  readonly app: App;
  readonly sockets?: Sockets;
  readonly previews?: Previews;
  readonly e2b?: E2bFront;
}

export async function listen(answering: Answering, at: Listen): Promise<Server> {
  const { app, sockets, previews, e2b } = answering;
  const { host, port } = at;
  refuseOpenly(at);
  let closing = false;
  // Counted here: Node takes a connection that has not asked anything yet for a busy one.
  const idle = new Map<string, Socket>();
  const { socket: listener, servers } = createListener(at, (incoming, outgoing) => {
    const { socket } = incoming;
    const peer = peerOf(socket);
    idle.delete(peer);
    outgoing.once("close", () => {
      if (closing) socket.end();
      else if (!socket.destroyed) idle.set(peer, socket);
    });
    if (closing) outgoing.setHeader("connection", "close");
    const address = e2b?.find(incoming);
    if (address) return void e2b?.serve(address, incoming, outgoing);
    const preview = previews?.find(incoming);
    void (preview ? previews?.serve(preview, incoming, outgoing) : respond(app, incoming, outgoing));
  });
  listener.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    idle.set(peer, socket);
    socket.once("close", () => idle.delete(peer));
  });
  const upgraded = new Set<Duplex>();
  const upgrade = (incoming: IncomingMessage, socket: Duplex, head: Buffer): void => {
    idle.delete(peerOf(incoming.socket));
    if (!sockets || closing) return void socket.destroy();
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    socket.on("error", () => socket.destroy());
    const preview = previews?.find(incoming);
    if (preview) void previews?.upgrade(preview, incoming, socket, head);
    else sockets.upgrade(incoming, socket, head);
  };
  for (const server of servers) {
    server.on("upgrade", upgrade);
    // Uploads and input streams take as long as they take; headers still have a minute.
    server.requestTimeout = 0;
    server.keepAliveTimeout = 65_000;
  }
  listener.listen(port, host);
  await once(listener, "listening").catch((cause) => {
    throw new SandboxerError(
      "conflict",
      `cannot listen on ${host} port ${port}: ${cause.code ?? cause.message}`,
      {
        hint: "Choose another with --port or SANDBOXER_PORT.",
        cause,
      },
    );
  });
  const address = listener.address() as AddressInfo;
  return {
    url: `${at.tls ? "https" : "http"}://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`,
    async close() {
      closing = true;
      const timer = setTimeout(() => {
        for (const server of servers) server.closeAllConnections();
        for (const socket of upgraded) socket.destroy();
      }, GRACE_MS);
      const closed = new Promise((resolve) => listener.close(resolve));
      sockets?.close();
      for (const socket of idle.values()) socket.destroy();
      await closed;
      clearTimeout(timer);
    },
  };
}

/** The same below TLS and above it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Without TLS, keys do not leave this machine unless somebody says that they may. */
function refuseOpenly({ host, tls, insecure }: Listen): void {
  if (isLoopback(host) || tls || insecure) return;
  throw new SandboxerError("invalid_request", `${host} is not loopback: keys would travel in the clear`, {
    hint: "Give --tls-cert and --tls-key, or --insecure where something in front keeps them secret.",
  });
}
