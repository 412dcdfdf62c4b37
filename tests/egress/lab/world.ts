import { readFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createClearServer, createSecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type Socket } from "node:net";
import { join as pathOf } from "node:path";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext } from "node:tls";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { authorityOf, newAuthority } from "../../../packages/egress/src/tls/certificate.ts";
import { serveDns } from "./dns.ts";
import { answerStream } from "./grpc.ts";
import type { Recorded, WorldAnswer, WorldOrder } from "./lab.ts";
import { speak } from "./websocket.ts";

/** The far side, alone in a network of its own: a resolver, servers, and a record of all that reached it. */
const records: Recorded[] = [];
const zone = new Map<string, string[][]>();
const keys = newAuthority("lab");
const authority = authorityOf(keys);
const stranger = authorityOf(newAuthority("nobody"));
const contexts = new Map<string, SecureContext>();
const live = new Set<Socket>();
let acceptedKey = "";
/** Somebody who remembers what it was told. */
let lastKey = "";
let folder = "";
let large = Buffer.alloc(0);

serveDns(zone, (question) => records.push({ kind: "dns", what: question }));

function contextFor(name: string): SecureContext {
  const known = contexts.get(name);
  if (known) return known;
  const issuer = name.startsWith("selfsigned.") ? stranger : authority;
  const past = { from: new Date("2020-01-01"), to: new Date("2020-02-01") };
  const shown = name.startsWith("wrongname.") ? "other.test" : name;
  const { cert, key } = issuer.issue(shown, name.startsWith("expired.") ? past : {});
  const context = createSecureContext({ cert, key });
  contexts.set(name, context);
  return context;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", url = "", rawHeaders } = request;
  const chunks: Buffer[] = [];
  const record = (what: string) => {
    const body = Buffer.concat(chunks).toString("latin1");
    records.push({ kind: "request", what, headers: rawHeaders, body });
    return body;
  };
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    // What broke off has come here all the same.
    return void record(`HALF ${method} ${url}`);
  }
  const body = record(`${method} ${url}`);
  const big = /^\/bytes\/(\d+)$/.exec(url)?.[1];
  if (big) return void response.end(bytesOf(Number(big)));
  if (url.startsWith("/static/")) return void give(response, url.slice("/static/".length));
  if (url === "/v1/kept") return void response.end(`${lastKey}\n`);
  lastKey = String(request.headers["x-api-key"] ?? lastKey);
  if (url === "/v1/messages") return void say(response, request.headers["x-api-key"] === acceptedKey);
  if (url.startsWith("/v1/reflect")) return void reflect(request, response, body);
  if (url === "/v1/unasked")
    return void response.socket?.write(
      "HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\nwords",
    );
  if (url.startsWith("/v1/cut/")) return void cut(url, response);
  if (url === "/drip") return void drip(response);
  if (url === "/long-head")
    return void response.socket?.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(1_000_000)}\r\n\r\n`);
  if (url.startsWith("/echo")) return void response.end(`${rawHeaders.join("\n")}\n${body}`);
  if (url.startsWith("/v1/redirect/")) return void redirect(url, response);
  if (url.startsWith("/redirect"))
    return void response.writeHead(302, { location: "https://evil.test/" }).end();
  response.end(`hello from ${request.headers.host}\n`);
}

/** Leads elsewhere in every way that an answer can. */
function redirect(url: string, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, "http://here");
  const location = searchParams.get("to") ?? "";
  const status = Number(pathname.split("/").at(-1));
  const ways = { location, refresh: `0; url=${location}`, "alt-svc": 'h2="evil.test:443"; ma=3600' };
  response
    .writeHead(status, status === 200 ? { ...ways, location: "" } : ways)
    .end(`<meta http-equiv="refresh" content="0; url=${location}">\n`);
}

/** Says how long it is, or begins a piece, and breaks off in its middle. */
function cut(url: string, response: ServerResponse): void {
  if (url === "/v1/cut/length") response.writeHead(200, { "content-length": 150 });
  response.write("the first half", () => response.destroy());
}

/** The head of an answer, a byte at a time and without an end. */
function drip({ socket }: ServerResponse): void {
  socket?.write("HTTP/1.1 200 OK\r\nX: ");
  const timer = setInterval(() => socket?.write("x"), 100);
  socket?.once("close", () => clearInterval(timer));
}

/** Made once, so that whoever measures a connection does not measure that too. */
function bytesOf(count: number): Buffer {
  if (large.length !== count) large = Buffer.alloc(count, 120);
  return large;
}

function give(response: ServerResponse, path: string): void {
  try {
    response.end(readFileSync(pathOf(folder, decodeURIComponent(path.split("?")[0] ?? ""))));
  } catch {
    response.writeHead(404).end();
  }
}

/** As much of a model API as a key needs to be tried on. */
function say(response: ServerResponse, isWelcome: boolean): void {
  const answer = isWelcome
    ? { type: "message", content: [{ type: "text", text: "four" }] }
    : { type: "error", error: { type: "authentication_error" } };
  response
    .writeHead(isWelcome ? 200 : 401, { "content-type": "application/json" })
    .end(JSON.stringify(answer));
}

/** Sends back whatever came, everywhere an answer has room for it, packed as the query says. */
function reflect(request: IncomingMessage, response: ServerResponse, body: string): void {
  const key = String(request.headers["x-api-key"] ?? "");
  const told = [key, encodeURIComponent(key), Buffer.from(`u:${key}`).toString("base64")].join("\n");
  const text = `${request.rawHeaders.join("\n")}\n${told}\n${Buffer.from(key).toString("hex")}\n${body}`;
  const { searchParams: asked } = new URL(request.url ?? "", "http://here");
  const coding = asked.get("coding") ?? "";
  const packed = PACKERS[coding]?.(text) ?? Buffer.from(text, "latin1");
  if (asked.has("hints")) response.writeEarlyHints({ link: `</${key}>; rel=preload` });
  response.writeHead(Number(asked.get("status") ?? 200), `seen ${key}`, {
    trailer: "x-last",
    [`x-${key}`]: "named",
    "set-cookie": `session=${key}`,
    location: `https://elsewhere.test/?key=${encodeURIComponent(key)}`,
    "x-basic": Buffer.from(`u:${key}`).toString("base64"),
    ...(coding && { "content-encoding": coding }),
  });
  // Cut in the middle of wherever the secret may be.
  for (let at = 0; at < packed.length; at += 7) response.write(packed.subarray(at, at + 7));
  response.addTrailers({ "x-last": key });
  response.end();
}

const PACKERS: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: gzipSync,
  br: brotliCompressSync,
  deflate: deflateSync,
  zstd: zstdCompressSync,
};

/** A client decides when its connection is over, however long a busy machine makes it wait. */
const KEPT = { keepAliveTimeout: 0 };
function note(socket: Socket): void {
  records.push({ kind: "connection", what: `${socket.localAddress}:${socket.localPort}` });
  live.add(socket);
  socket.on("error", () => {});
  socket.once("close", () => live.delete(socket));
}

/** Opens a WebSocket with all that it knows of keys in its answer's head, and says what it is told. */
function join(request: IncomingMessage, socket: Duplex): void {
  records.push({ kind: "request", what: `UPGRADE ${request.url}`, headers: request.rawHeaders });
  const told = acceptedKey && [
    `X-Basic: ${Buffer.from(`u:${acceptedKey}`).toString("base64")}`,
    `Set-Cookie: session=${acceptedKey}`,
    `X-${acceptedKey}: 1`,
    'Alt-Svc: h2="evil.test:443"',
  ];
  const packed = request.url?.endsWith("?packed") ? ["Sec-WebSocket-Extensions: permessage-deflate"] : [];
  const lines = ["Connection: Upgrade", "Upgrade: websocket", ...told, ...packed];
  socket.write(`HTTP/1.1 101 Seen ${acceptedKey}\r\n${lines.join("\r\n")}\r\n\r\n`);
  speak(
    socket,
    () => acceptedKey,
    (one) => records.push(one),
  );
}

for (const port of [80, 8080]) {
  createHttpServer(KEPT, (request, response) => void answer(request, response))
    .on("connection", note)
    .on("upgrade", join)
    .listen(port);
}
createHttpsServer(
  { ...KEPT, SNICallback: (name, done) => done(null, contextFor(name)), ...authority.issue("default.test") },
  (request, response) => void answer(request, response),
)
  .on("connection", note)
  .on("upgrade", join)
  .listen(443);
/** HTTP/2 and nothing else, with TLS and without. */
const speakHttp2 = answerStream((one) => records.push(one));
createSecureServer({
  SNICallback: (name, done) => done(null, contextFor(name)),
  ...authority.issue("default.test"),
})
  .on("connection", note)
  .on("stream", speakHttp2)
  .listen(8444);
createClearServer().on("connection", note).on("stream", speakHttp2).listen(50_051);
/** As it was spoken long ago. */
createHttpsServer(
  {
    ...{ minVersion: "TLSv1" as const, maxVersion: "TLSv1.1" as const, ciphers: "DEFAULT:@SECLEVEL=0" },
    ...authority.issue("old.bad.test"),
  },
  (request, response) => void answer(request, response),
)
  .on("connection", note)
  .listen(8445);
/** Says what it hears. */
createServer((socket) => {
  note(socket);
  socket.pipe(socket);
}).listen(7000);

function packets(): number {
  const line = readFileSync("/proc/net/dev", "utf8")
    .split("\n")
    .find((one) => one.includes("w0:"));
  return Number(line?.split(/[:\s]+/).filter(Boolean)[2] ?? 0);
}

process.on("message", (order: WorldOrder) => {
  const say = (given: WorldAnswer) => process.send?.({ ...given, id: order.id });
  if (order.op === "name") zone.set(order.name, order.answers);
  if (order.op === "accept") acceptedKey = order.key;
  if (order.op === "serve") folder = order.dir;
  if (order.op === "clear") records.splice(0);
  say({ records: [...records], packets: packets(), live: live.size, ca: keys.certificate });
});
process.once("disconnect", () => process.exit(0));
process.send?.({ id: 0 });
