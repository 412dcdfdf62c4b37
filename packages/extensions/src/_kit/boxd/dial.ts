import { createConnection, type Socket } from "node:net";

/** A connected socket, or nothing where nobody listens. */
export function dial(path: string): Promise<Socket | undefined> {
  const socket = createConnection(path);
  return new Promise((resolve) => {
    socket.once("connect", () => {
      socket.removeAllListeners();
      resolve(socket);
    });
    socket.once("error", () => resolve(undefined));
  });
}
