import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** Of an answer, what concerns our connection to the far side, or would lead around the guard. */
const OURS = new Set(
  "connection keep-alive proxy-connection proxy-authenticate transfer-encoding upgrade trailer alt-svc".split(
    " ",
  ),
);
const WITHOUT_BODY = new Set([204, 304]);

/** An answer of the guard's own. The connection ends with it. */
export function answerShort(to: Duplex, status: number, message: string, hint?: string): void {
  const phrase = { 400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway" }[status] ?? "Error";
  const code = status === 403 ? "policy_denied" : "guard";
  const body = `${JSON.stringify({ error: { code, message, ...(hint && { hint }) } })}\n`;
  const lines = [
    `HTTP/1.1 ${status} ${phrase}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  to.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** It came to nothing after its answer had begun, so nothing more can be said. */
export class BrokenOff extends Error {
  constructor(cause: unknown) {
    super("the answer breaks off", { cause });
  }
}

/** Writes, and waits where the other side is slow. False when it has left. */
export async function send(to: Duplex, bytes: Buffer | string): Promise<boolean> {
  if (to.destroyed || !to.writable) return false;
  if (to.write(bytes)) return true;
  await new Promise<void>((resolve) => {
    const done = () => {
      to.off("drain", done).off("close", done);
      resolve();
    };
    to.on("drain", done).on("close", done);
  });
  return !to.destroyed;
}

export interface Passing {
  readonly method: string;
  readonly keepAlive: boolean;
  /** What the body is on its way in. */
  readonly change?: (body: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;
  /** What the words of its head are: the phrase, each header's name and value. */
  readonly changeWord?: (word: string) => string;
  /** Headers that are not true of what is passed on. */
  readonly drops?: ReadonlySet<string>;
}

/** The answer that opens a WebSocket, of which nothing but its head is an answer. */
export function upgradeHead(answer: IncomingMessage, changeWord = (word: string) => word): Buffer {
  const { statusMessage = "", rawHeaders } = answer;
  const lines = [`HTTP/1.1 101 ${changeWord(statusMessage)}`, "Connection: Upgrade", "Upgrade: websocket"];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at] as string, rawHeaders[at + 1] as string];
    if (!OURS.has(name.toLowerCase())) lines.push(`${changeWord(name)}: ${changeWord(value)}`);
  }
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}

/** Passes an answer on. True when the connection can be used again. */
export async function passOn(to: Duplex, answer: IncomingMessage, passing: Passing): Promise<boolean> {
  const { method, keepAlive, change = (body) => body, changeWord = (word) => word } = passing;
  const { statusCode: status = 502, statusMessage = "", rawHeaders } = answer;
  const isBare = method === "HEAD" || WITHOUT_BODY.has(status);
  const keepsLength = isBare || passing.change === undefined;
  const head = [`HTTP/1.1 ${status} ${changeWord(statusMessage)}`];
  let hasLength = false;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const small = name.toLowerCase();
    if (OURS.has(small) || passing.drops?.has(small) || (small === "content-length" && !keepsLength))
      continue;
    hasLength ||= small === "content-length";
    head.push(`${changeWord(name)}: ${changeWord(rawHeaders[at + 1] as string)}`);
  }
  const isChunked = !isBare && !hasLength;
  if (isChunked) head.push("Transfer-Encoding: chunked");
  head.push(`Connection: ${keepAlive ? "keep-alive" : "close"}`);
  if (!(await send(to, Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1")))) return false;
  if (isBare) {
    answer.resume();
    return keepAlive;
  }
  for await (const part of change(answer as AsyncIterable<Buffer>)) {
    if (part.length === 0) continue;
    if (isChunked && !(await send(to, `${part.length.toString(16)}\r\n`))) return false;
    if (!(await send(to, isChunked ? Buffer.concat([part, Buffer.from("\r\n")]) : part))) return false;
  }
  if (isChunked && !(await send(to, "0\r\n\r\n"))) return false;
  return keepAlive && answer.complete;
}
