import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { HTTP_1_FIRST } from "../tls/application-protocol.ts";
import type { Authority } from "../tls/certificate.ts";

const PREFACE_PATIENCE_MS = 5_000;
const HANDSHAKE_PATIENCE_MS = 15_000;
const KEPT_CONTEXTS = 500;
/** What is said here never leaves the machine, so nobody keeps it for a better computer; such keys are large. */
const CURVES = "X25519:P-256:P-384";
const NOTHING = Buffer.alloc(0);

/** Takes connections from the relay: the first line of each is the number of its tunnel. */
export function listenForTunnels(path: string, take: (tunnel: number, socket: Socket) => void): Server {
  const server = createServer({ pauseOnConnect: false }, (socket) => {
    socket.on("error", () => socket.destroy());
    const timer = setTimeout(() => socket.destroy(), PREFACE_PATIENCE_MS);
    let bytes = NOTHING;
    const read = () => {
      for (let chunk = socket.read() as Buffer | null; chunk; chunk = socket.read() as Buffer | null) {
        bytes = Buffer.concat([bytes, chunk]);
      }
      const end = bytes.indexOf("\n");
      if (end < 0) return;
      clearTimeout(timer);
      socket.off("readable", read);
      socket.unshift(bytes.subarray(end + 1));
      const tunnel = Number(bytes.toString("latin1", 0, end));
      // Who listens for errors would keep them for as long as the connection lasts.
      bytes = NOTHING;
      take(tunnel, socket);
    };
    socket.on("readable", read);
  });
  server.listen(path);
  return server;
}

/** Certificates of one sandbox's authority, made once for each host. */
export function createContexts(authority: Authority): (host: string) => SecureContext {
  const made = new Map<string, SecureContext>();
  return (host) => {
    const known = made.get(host);
    if (known) return known;
    const context = createSecureContext({
      ...authority.issue(host),
      ecdhCurve: CURVES,
      minVersion: "TLSv1.2",
    });
    made.set(host, context);
    if (made.size > KEPT_CONTEXTS) made.delete(made.keys().next().value as string);
    return context;
  };
}

/** Ends TLS for exactly this host: a greeting that names another gets no further. */
export function endTls(
  socket: Socket,
  host: string,
  context: SecureContext,
  patienceMs = HANDSHAKE_PATIENCE_MS,
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const refused = (reason: string) => {
      socket.destroy();
      reject(new Error(reason));
    };
    const tls = new TLSSocket(socket, {
      isServer: true,
      secureContext: context,
      ALPNProtocols: HTTP_1_FIRST,
      SNICallback: (name, done) =>
        name.toLowerCase() === host ? done(null, context) : done(new Error("TLS is for another name")),
    });
    const timer = setTimeout(() => refused("too slow"), patienceMs);
    tls.once("error", (error) => refused(error.message));
    tls.once("close", () => refused("the program left"));
    tls.once("secure", () => {
      clearTimeout(timer);
      // A greeting that names nobody has not been asked about.
      const named = (tls as TLSSocket & { servername?: string | false }).servername;
      if (!named || named.toLowerCase() !== host) return refused("TLS is for another name");
      tls.removeAllListeners("close");
      resolve(tls);
    });
  });
}
