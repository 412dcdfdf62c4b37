import {
  type Channel,
  type Frame,
  HEADER_BYTES,
  KIND,
  MAXIMUM_DATA_BYTES,
  MAXIMUM_PAYLOAD_BYTES,
  ProtocolError,
} from "./frame.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });
const JSON_KINDS = { 1: "HELLO", 2: "OPEN", 3: "REPLY", 7: "END", 8: "FAIL" } as const;

/** A longer DATA frame is passed on in parts, as they come: gathering it would copy every byte. */
const GATHERED_BYTES = 4_096;

/** What is still to come of a DATA frame that is being passed on. */
interface Passing {
  readonly stream: number;
  readonly channel: Channel;
  left: number;
}

/** Turns bytes, cut anywhere, into frames. Holds at most one unfinished frame. */
export class FrameDecoder {
  #rest: Buffer = Buffer.alloc(0);
  #passing: Passing | undefined;

  *push(chunk: Uint8Array): Generator<Frame> {
    const incoming = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const buffer = this.#rest.length === 0 ? incoming : Buffer.concat([this.#rest, incoming]);
    let at = 0;
    try {
      while (at < buffer.length) {
        if (this.#passing) {
          const data = buffer.subarray(at, at + this.#passing.left);
          at += data.length;
          yield this.#part(this.#passing, data);
          continue;
        }
        if (buffer.length - at < HEADER_BYTES) break;
        const length = buffer.readUInt32BE(at);
        if (length > MAXIMUM_PAYLOAD_BYTES) throw new ProtocolError(`a frame of ${length} bytes`);
        const end = at + HEADER_BYTES + length;
        const kind = buffer[at + 4] as number;
        const stream = buffer.readUInt32BE(at + 5);
        if (buffer.length < end) {
          if (kind !== KIND.DATA || buffer.length - at < HEADER_BYTES + GATHERED_BYTES) break;
          this.#passing = beginPassing(stream, length, buffer.subarray(at + HEADER_BYTES));
          at += HEADER_BYTES + 1;
          continue;
        }
        const payload = buffer.subarray(at + HEADER_BYTES, end);
        at = end;
        yield decodePayload(kind, stream, payload);
      }
    } finally {
      this.#rest = buffer.subarray(at);
    }
  }

  #part(passing: Passing, data: Buffer): Frame {
    passing.left -= data.length;
    if (passing.left === 0) this.#passing = undefined;
    return { kind: "DATA", stream: passing.stream, channel: passing.channel, data };
  }
}

function beginPassing(stream: number, length: number, begun: Buffer): Passing {
  if (stream === 0) throw new ProtocolError("DATA on stream 0");
  if (length > MAXIMUM_DATA_BYTES + 1) throw new ProtocolError("DATA too long");
  return { stream, channel: channelOf(begun), left: length - 1 };
}

function decodePayload(kind: number, stream: number, payload: Buffer): Frame {
  if ((stream === 0) !== isOfConnection(kind)) throw new ProtocolError(`kind ${kind} on stream ${stream}`);
  switch (kind) {
    case KIND.DATA: {
      if (payload.length > MAXIMUM_DATA_BYTES + 1) throw new ProtocolError("DATA too long");
      return { kind: "DATA", stream, channel: channelOf(payload), data: payload.subarray(1) };
    }
    case KIND.EOF:
      expectLength(payload, 1);
      return { kind: "EOF", stream, channel: channelOf(payload) };
    case KIND.WINDOW:
      expectLength(payload, 4);
      return { kind: "WINDOW", stream, credit: payload.readUInt32BE(0) };
    case KIND.CANCEL:
      expectLength(payload, 0);
      return { kind: "CANCEL", stream };
    case KIND.PING:
    case KIND.PONG:
      expectLength(payload, 8);
      return { kind: kind === KIND.PING ? "PING" : "PONG", stream, data: payload };
    case KIND.HELLO:
    case KIND.OPEN:
    case KIND.REPLY:
    case KIND.END:
    case KIND.FAIL:
      return { kind: JSON_KINDS[kind], stream, json: jsonOf(payload) };
    default:
      throw new ProtocolError(`unknown kind ${kind}`);
  }
}

const isOfConnection = (kind: number): boolean =>
  kind === KIND.HELLO || kind === KIND.PING || kind === KIND.PONG;

function channelOf(payload: Buffer): Channel {
  const channel = payload[0];
  if (channel !== 0 && channel !== 1 && channel !== 2) throw new ProtocolError("no such channel");
  return channel;
}

function expectLength(payload: Buffer, length: number): void {
  if (payload.length !== length) throw new ProtocolError("a payload of the wrong length");
}

function jsonOf(payload: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(payload));
  } catch (cause) {
    throw new ProtocolError("a payload that is not JSON", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ProtocolError("a payload that is not an object");
  }
  return value as Record<string, unknown>;
}
