import { createConnection, type Socket } from "node:net";
import { SandboxerError } from "@sandboxer/contract";
import { createArrivals } from "./arrivals.ts";

/** A connected socket, or nothing where nobody listens. Any other trouble proves nothing, and throws. */
export function dial(path: string): Promise<Socket | undefined> {
  const arrivals = createArrivals();
  const callback = (length: number): boolean => socket.push(arrivals.take(length));
  const socket: Socket = createConnection({ path, onread: { buffer: arrivals.room, callback } });
  return new Promise((resolve, reject) => {
    socket.once("connect", () => {
      socket.removeAllListeners();
      resolve(socket);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ECONNREFUSED") return resolve(undefined);
      const message = `cannot connect to ${path}: ${error.code ?? error.message}`;
      reject(new SandboxerError("extension_failed", message, { cause: error }));
    });
  });
}
