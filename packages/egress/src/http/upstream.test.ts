import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { openUpstream, trusted } from "./upstream.ts";

it("EG-21 a far side that opens a WebSocket and breaks off before anybody listens ends nothing but itself", async () => {
  const held: Socket[] = [];
  const server = createServer((socket) => {
    held.push(socket);
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nmore");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const place = { scheme: "http", host: "a.test", port, addresses: ["127.0.0.1"] } as const;
  const upstream = openUpstream(place, trusted([]), "a.test");
  const headers = ["Host", "a.test", "Connection", "Upgrade", "Upgrade", "websocket"];
  const { request, outcome } = upstream.send("GET", "/", headers);
  request.end();
  const came = await outcome;
  if (came.kind !== "upgrade") throw new Error("it opened nothing");
  expect(came.first.toString()).toBe("more");
  const closed = new Promise((resolve) => came.socket.once("close", resolve));
  const unheard: unknown[] = [];
  const hear = (error: unknown) => void unheard.push(error);
  process.on("uncaughtException", hear);
  for (const socket of held) socket.resetAndDestroy();
  await closed;
  process.off("uncaughtException", hear);
  expect(unheard).toEqual([]);
  upstream.close();
  server.close();
});
