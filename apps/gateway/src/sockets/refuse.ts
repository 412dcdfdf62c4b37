import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";

/** An answer by hand: who asked for another protocol still speaks HTTP. */
export function refuseUpgrade(socket: Duplex, status: number, body: object): void {
  if (socket.destroyed) return;
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} Refused`,
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
}
