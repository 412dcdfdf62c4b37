import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from "node:http";
import { Agent, request } from "node:https";
import { isIP, type LookupFunction, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { HTTP_1 } from "../tls/application-protocol.ts";

const CONNECT_PATIENCE_MS = 15_000;

/** Where an inspected connection leads: one host, at addresses that were judged. */
export interface Destination {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

export type Outcome =
  | { readonly kind: "answer"; readonly answer: IncomingMessage }
  | {
      readonly kind: "upgrade";
      readonly answer: IncomingMessage;
      readonly socket: Duplex;
      readonly first: Buffer;
    };

/** The far side of one inspected connection: at most one socket, always to what was judged. */
export interface Upstream {
  send(
    method: string,
    target: string,
    headers: readonly string[],
  ): { request: ClientRequest; outcome: Promise<Outcome> };
  close(): void;
}

/**
 * Everybody this machine trusts, and whom the operator added. Read once: reading some hundred
 * certificates takes longer than everything else about a request.
 */
export function trusted(extra: readonly string[]): SecureContext {
  const ca = [...new Set([...getCACertificates("default"), ...getCACertificates("system"), ...extra])];
  return createSecureContext({ ca, minVersion: "TLSv1.2" });
}

/** Instead of asking for the name again. Where one address does not answer, the next is tried. */
function judged(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_, options, done) =>
    options.all ? done(null, all) : done(null, all[0]?.address ?? "", all[0]?.family);
}

export function openUpstream(destination: Destination, trust: SecureContext, servername: string): Upstream {
  const { scheme, host, port } = destination;
  const isTls = scheme === "https";
  const agent = isTls
    ? new Agent({ keepAlive: true, maxSockets: 1, maxCachedSessions: 0 })
    : new PlainAgent({ keepAlive: true, maxSockets: 1 });
  const lookup = judged(destination.addresses);
  /** In the clear; one below TLS cannot be reached, and ends in order. */
  const sockets = new Set<Socket>();
  const tls = isTls ? { secureContext: trust, servername, ALPNProtocols: HTTP_1 } : {};
  return {
    send(method, path, headers) {
      const make = isTls ? request : plainRequest;
      const given = {
        host,
        lookup,
        port,
        method,
        path,
        headers: [...headers],
        agent,
        setHost: false,
        ...tls,
      };
      const outgoing = make(given);
      outgoing.setTimeout(CONNECT_PATIENCE_MS, () => {
        if (outgoing.socket?.connecting) outgoing.destroy(new Error("it does not answer"));
      });
      outgoing.once("socket", (socket) => {
        if (isTls || sockets.has(socket)) return;
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
      });
      const outcome = new Promise<Outcome>((resolve, reject) => {
        outgoing.once("response", (answer) => resolve({ kind: "answer", answer }));
        outgoing.once("upgrade", (answer, socket, first) => {
          sockets.delete(socket as Socket);
          // From here on nobody hears its errors, and one that nobody hears would end the guard.
          socket.on("error", () => socket.destroy());
          resolve({ kind: "upgrade", answer, socket, first });
        });
        outgoing.on("error", reject);
      });
      outcome.catch(() => {});
      return { request: outgoing, outcome };
    },
    // Nothing more is said here. One that ended in order would keep its port from others for a minute.
    close() {
      for (const socket of sockets) socket.resetAndDestroy();
      agent.destroy();
    },
  };
}
