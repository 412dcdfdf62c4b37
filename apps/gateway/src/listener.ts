import { readFileSync } from "node:fs";
import { createServer, type Server as HttpServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket, Server as SocketServer } from "node:net";
import { SandboxerError } from "@sandboxer/contract";

const TLS_HANDSHAKE = 0x16;
const FIRST_BYTE_WITHIN_MS = 60_000;

export interface Certificates {
  /** PEM files: then there is TLS and nothing else. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** For those who speak TLS on a port that is in the clear. */
  readonly ownCertificate?: { readonly cert: string; readonly key: string } | undefined;
}

/** What listens, and the HTTP servers that its connections end up with. */
export interface Listener {
  readonly socket: SocketServer;
  readonly servers: readonly HttpServer[];
}

export function createListener({ tls, ownCertificate }: Certificates, handle: RequestListener): Listener {
  if (tls) {
    const secure = secureServer(tls, handle);
    return { socket: secure, servers: [secure] };
  }
  const plain = createServer(handle);
  if (!ownCertificate) return { socket: plain, servers: [plain] };
  const secure = createSecureServer({ ...ownCertificate, minVersion: "TLSv1.2" }, handle);
  sniff(plain, secure);
  return { socket: plain, servers: [plain, secure] };
}

/** A handshake of TLS begins with a byte that no request of HTTP begins with. */
function sniff(plain: HttpServer, secure: HttpServer): void {
  const serve = plain.listeners("connection") as ((socket: Socket) => void)[];
  plain.removeAllListeners("connection");
  plain.on("connection", (socket: Socket) => {
    const drop = () => socket.destroy();
    socket.once("error", drop).setTimeout(FIRST_BYTE_WITHIN_MS, drop);
    socket.once("readable", () => {
      const first = socket.read() as Buffer | null;
      if (!first) return drop();
      socket.off("error", drop).setTimeout(0).removeListener("timeout", drop);
      socket.unshift(first);
      if (first[0] === TLS_HANDSHAKE) secure.emit("connection", socket);
      else for (const one of serve) one.call(plain, socket);
    });
  });
  // It listens to what it is given; its own clock for slow heads starts and ends with the other's.
  plain.once("listening", () => secure.emit("listening"));
  plain.once("close", () => secure.close(() => {}));
}

function secureServer(tls: { cert: string; key: string }, handle: RequestListener): HttpServer {
  try {
    const { cert, key } = { cert: readFileSync(tls.cert), key: readFileSync(tls.key) };
    return createSecureServer({ cert, key, minVersion: "TLSv1.2" }, handle);
  } catch (cause) {
    const { message } = cause as Error;
    throw new SandboxerError("invalid_request", `the certificate cannot be used: ${message}`, { cause });
  }
}
