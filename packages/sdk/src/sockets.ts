import { ATTACHMENT_PROTOCOL_PREFIX, KEY_PROTOCOL_PREFIX } from "@sandboxer/contract";

/** What the client needs of the platform's WebSocket; browsers and Node bring one. */
export type SocketMaker = new (url: string, protocols: string[]) => WebSocket;

/** Opens sockets to one gateway with one key. */
export type OpenSocket = (path: string, protocol: string) => Promise<WebSocket>;

const OPENS_WITHIN_MS = 30_000;

export function createSockets(options: {
  readonly url: string;
  readonly apiKey: string;
  readonly WebSocket: SocketMaker;
  readonly attachmentId?: string;
}): OpenSocket {
  const base = options.url.replace(/\/+$/, "").replace(/^http/, "ws");
  // No header can be set in a browser, and an address ends up in logs: the key goes as a protocol.
  const key = btoa(options.apiKey).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const identity = [KEY_PROTOCOL_PREFIX + key];
  if (options.attachmentId !== undefined) identity.push(ATTACHMENT_PROTOCOL_PREFIX + options.attachmentId);
  return (path, protocol) =>
    new Promise((resolve, reject) => {
      const socket = new options.WebSocket(base + path, [protocol, ...identity]);
      socket.binaryType = "arraybuffer";
      const fail = () => {
        clearTimeout(timer);
        socket.close();
        reject(new Error("the gateway did not accept a WebSocket"));
      };
      const timer = setTimeout(fail, OPENS_WITHIN_MS);
      socket.addEventListener("open", () => {
        clearTimeout(timer);
        socket.removeEventListener("error", fail);
        socket.removeEventListener("close", fail);
        resolve(socket);
      });
      socket.addEventListener("error", fail);
      socket.addEventListener("close", fail);
    });
}
