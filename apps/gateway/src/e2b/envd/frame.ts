import type { ServerResponse } from "node:http";
import { SandboxerError } from "@sandboxer/contract";
import { room } from "../exchange.ts";
import { parseJson } from "../read-body.ts";

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

/** The one message of a request to a server stream. */
export function readFrame(body: Buffer): unknown {
  const refuse = (why: string) => new SandboxerError("invalid_request", `the envelope is broken: ${why}`);
  if (body.length < HEAD_BYTES) throw refuse("it is cut off");
  if (body.readUInt8(0) !== MESSAGE) throw refuse("compression is not offered here");
  if (body.readUInt32BE(1) !== body.length - HEAD_BYTES) throw refuse("its length is another");
  return parseJson(body.subarray(HEAD_BYTES));
}

export interface FrameStream {
  /** Resolves when the client has room for more. */
  send(message: object): Promise<void>;
  end(trailer: object): void;
}

export function openFrames(outgoing: ServerResponse): FrameStream {
  outgoing.writeHead(200, { "content-type": "application/connect+json" });
  let ready: Buffer[] = [];
  let flushing: NodeJS.Immediate | undefined;
  const flush = () => {
    clearImmediate(flushing);
    flushing = undefined;
    const together = Buffer.concat(ready);
    ready = [];
    if (together.length > 0 && !outgoing.destroyed) outgoing.write(together);
  };
  return {
    async send(message) {
      // What is ready together leaves together.
      ready.push(frameOf(MESSAGE, message));
      flushing ??= setImmediate(flush);
      await room(outgoing);
    },
    end(trailer) {
      ready.push(frameOf(END_OF_STREAM, trailer));
      clearImmediate(flushing);
      if (!outgoing.destroyed) outgoing.end(Buffer.concat(ready));
    },
  };
}
