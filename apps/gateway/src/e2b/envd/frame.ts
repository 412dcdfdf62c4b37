import type { ServerResponse } from "node:http";
import { SandboxerError } from "@sandboxer/contract";
import { room } from "../exchange.ts";
import { parseMessage } from "../read-body.ts";

const HEAD_BYTES = 5;
const MESSAGE = 0;
const END_OF_STREAM = 2;

/** One message of Connect's streams: flags, length, JSON. */
export function frameOf(flags: number, value: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(value));
  const frame = Buffer.allocUnsafe(HEAD_BYTES + text.length);
  frame.writeUInt8(flags, 0);
  frame.writeUInt32BE(text.length, 1);
  text.copy(frame, HEAD_BYTES);
  return frame;
}

const refuse = (why: string) => new SandboxerError("invalid_request", `the envelope is broken: ${why}`);

/** The messages of a request that is a stream itself, as they come. */
export async function* readFrames(
  source: AsyncIterable<Uint8Array>,
  maximumBytes: number,
): AsyncGenerator<unknown> {
  // Put together once for each message, however small the parts are that it comes in.
  let parts: Uint8Array[] = [];
  let bytes = 0;
  let wanted = HEAD_BYTES;
  for await (const part of source) {
    parts.push(part);
    bytes += part.length;
    while (bytes >= wanted) {
      const held = joined(parts);
      const length = held.readUInt32BE(1);
      if (length > maximumBytes) {
        throw new SandboxerError("payload_too_large", `a message has at most ${maximumBytes} bytes here`);
      }
      const end = HEAD_BYTES + length;
      const isWhole = held.length >= end;
      const rest = isWhole ? held.subarray(end) : held;
      parts = rest.length > 0 ? [rest] : [];
      bytes = rest.length;
      wanted = isWhole ? HEAD_BYTES : end;
      // What a client says at its end is nothing that concerns us.
      if (isWhole && held.readUInt8(0) !== END_OF_STREAM) yield readFrame(held.subarray(0, end));
    }
  }
  if (bytes > 0) throw refuse("it is cut off");
}

function joined(parts: readonly Uint8Array[]): Buffer {
  const [first] = parts;
  if (parts.length > 1 || !first) return Buffer.concat(parts);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}

/** The one message of a request to a server stream. */
export function readFrame(bytes: Uint8Array): unknown {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (body.length < HEAD_BYTES) throw refuse("it is cut off");
  if (body.readUInt8(0) !== MESSAGE) throw refuse("compression is not offered here");
  if (body.readUInt32BE(1) !== body.length - HEAD_BYTES) throw refuse("its length is another");
  return parseMessage(body.subarray(HEAD_BYTES));
}

export interface FrameStream {
  /** Resolves when the client has room for more. */
  send(message: object): Promise<void>;
  end(trailer: object): void;
}

/** Past this, what is ready leaves before the moment is over. */
const ENOUGH_BYTES = 64 << 10;

/**
 * What is ready together leaves together. Nothing leaves in the first `moment`: most commands are
 * over by then, and their whole stream is one write, with its length in its head.
 */
export function openFrames(outgoing: ServerResponse, momentMs: number): FrameStream {
  let ready: Buffer[] = [];
  let bytes = 0;
  let moment: NodeJS.Timeout | undefined = momentMs > 0 ? setTimeout(flush, momentMs) : undefined;
  let flushing: NodeJS.Immediate | undefined;

  function taken(): Buffer {
    clearTimeout(moment);
    clearImmediate(flushing);
    moment = undefined;
    flushing = undefined;
    const [first] = ready;
    const together = ready.length === 1 && first ? first : Buffer.concat(ready);
    ready = [];
    bytes = 0;
    return together;
  }
  function flush(): void {
    const together = taken();
    if (outgoing.destroyed) return;
    if (!outgoing.headersSent) outgoing.writeHead(200, { "content-type": CONTENT_TYPE });
    if (together.length > 0) outgoing.write(together);
  }
  return {
    async send(message) {
      const frame = frameOf(MESSAGE, message);
      ready.push(frame);
      bytes += frame.length;
      if (bytes >= ENOUGH_BYTES) flush();
      else if (!moment) flushing ??= setImmediate(flush);
      await room(outgoing);
    },
    end(trailer) {
      ready.push(frameOf(END_OF_STREAM, trailer));
      const together = taken();
      if (outgoing.destroyed) return;
      if (!outgoing.headersSent) {
        outgoing.writeHead(200, { "content-type": CONTENT_TYPE, "content-length": together.length });
      }
      outgoing.end(together);
    },
  };
}

const CONTENT_TYPE = "application/connect+json";
