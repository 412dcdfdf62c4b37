import type { Duplex } from "node:stream";
import type { Recorded } from "./lab.ts";

const NAMES: Readonly<Record<number, string>> = { 1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong" };

/**
 * The far side of a WebSocket: writes down every message and says it again, and does what some of them
 * ask for. It knows nothing of how the guard reads frames.
 */
export function speak(socket: Duplex, key: () => string, record: (one: Recorded) => void): void {
  let bytes = Buffer.alloc(0);
  let message = { opcode: 0, parts: [] as Buffer[] };
  socket.on("error", () => {}).on("end", () => socket.end());
  socket.on("data", (part: Buffer) => {
    bytes = Buffer.concat([bytes, part]);
    for (let frame = next(bytes); frame; frame = next(bytes)) {
      bytes = bytes.subarray(frame.end);
      const { opcode, payload, isLast } = frame;
      if (opcode >= 8) {
        record({ kind: "request", what: `MESSAGE ${NAMES[opcode]}`, body: payload.toString("latin1") });
        if (opcode === 9) socket.write(frameOf(10, payload));
        if (opcode === 8) socket.end(frameOf(8, payload));
        continue;
      }
      message = opcode === 0 ? message : { opcode, parts: [] };
      message.parts.push(payload);
      if (!isLast) continue;
      const body = Buffer.concat(message.parts);
      record({ kind: "request", what: `MESSAGE ${NAMES[message.opcode]}`, body: body.toString("latin1") });
      const said = answersTo(body.toString("latin1"), key())?.map((one) => socket.write(one));
      if (!said) socket.write(frameOf(message.opcode, body));
    }
  });
}

/** What whoever means no good, or knows a key, would send. */
function answersTo(asked: string, key: string): Buffer[] | undefined {
  const secret = Buffer.from(`it is ${key}, or ${Buffer.from(`u:${key}`).toString("base64")}.`);
  if (asked === "tell text") return [frameOf(1, secret)];
  if (asked === "tell binary") return [frameOf(2, Buffer.concat([Buffer.from([0, 255]), secret]))];
  if (asked === "tell in a ping") return [frameOf(9, Buffer.from(key)), frameOf(1, Buffer.from("told"))];
  if (asked === "tell in pieces") {
    const pieces = Array.from(secret, (byte, at) =>
      frameOf(at === 0 ? 1 : 0, Buffer.from([byte]), at === secret.length - 1),
    );
    return pieces.flatMap((piece, at) => (at === 9 ? [piece, frameOf(9, Buffer.from("between"))] : [piece]));
  }
  if (asked === "send packed") return [Buffer.concat([Buffer.from([0xc1, 2]), Buffer.from("ab")])];
  if (asked === "send masked") return [Buffer.from([0x81, 0x82, 0, 0, 0, 0, 97, 98])];
  return undefined;
}

function next(bytes: Buffer) {
  const [first = 0, second = 0] = bytes;
  if (bytes.length < 2) return undefined;
  const said = second & 127;
  const from = said === 126 ? 4 : said === 127 ? 10 : 2;
  const isMasked = (second & 128) !== 0;
  const start = from + (isMasked ? 4 : 0);
  if (bytes.length < start) return undefined;
  const long = said === 127 ? Number(bytes.readBigUInt64BE(2)) : said;
  const length = said === 126 ? bytes.readUInt16BE(2) : long;
  if (bytes.length < start + length) return undefined;
  const mask = bytes.subarray(from, start);
  const payload = Buffer.from(bytes.subarray(start, start + length));
  if (isMasked) for (let at = 0; at < length; at++) payload[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0);
  return { opcode: first & 15, isLast: (first & 128) !== 0, payload, end: start + length };
}

function frameOf(opcode: number, payload: Buffer, isLast = true): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (isLast ? 128 : 0) | opcode;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
