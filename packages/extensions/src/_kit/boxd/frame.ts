/** The frames of packages/boxd/PROTOCOL.md. Both codecs are held to packages/boxd/vectors.json. */

export const KIND = {
  HELLO: 1,
  OPEN: 2,
  REPLY: 3,
  DATA: 4,
  EOF: 5,
  WINDOW: 6,
  END: 7,
  FAIL: 8,
  CANCEL: 9,
  PING: 10,
  PONG: 11,
} as const;

export const HEADER_BYTES = 9;
export const MAXIMUM_PAYLOAD_BYTES = 1_048_576;
export const MAXIMUM_DATA_BYTES = 65_536;
export const INITIAL_CREDIT_BYTES = 262_144;

export type Channel = 0 | 1 | 2;
type Json = Readonly<Record<string, unknown>>;

export type Frame =
  | {
      readonly kind: "HELLO" | "OPEN" | "REPLY" | "END" | "FAIL";
      readonly stream: number;
      readonly json: Json;
    }
  | { readonly kind: "DATA"; readonly stream: number; readonly channel: Channel; readonly data: Uint8Array }
  | { readonly kind: "EOF"; readonly stream: number; readonly channel: Channel }
  | { readonly kind: "WINDOW"; readonly stream: number; readonly credit: number }
  | { readonly kind: "CANCEL"; readonly stream: number }
  | { readonly kind: "PING" | "PONG"; readonly stream: number; readonly data: Uint8Array };

/** The peer broke the protocol; nothing more of it can be believed. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

export function encodeFrame(frame: Frame): Buffer {
  switch (frame.kind) {
    case "DATA": {
      const out = header(KIND.DATA, frame.stream, frame.data.length + 1);
      out[HEADER_BYTES] = frame.channel;
      out.set(frame.data, HEADER_BYTES + 1);
      return out;
    }
    case "EOF": {
      const out = header(KIND.EOF, frame.stream, 1);
      out[HEADER_BYTES] = frame.channel;
      return out;
    }
    case "WINDOW": {
      const out = header(KIND.WINDOW, frame.stream, 4);
      out.writeUInt32BE(frame.credit, HEADER_BYTES);
      return out;
    }
    case "CANCEL":
      return header(KIND.CANCEL, frame.stream, 0);
    case "PING":
    case "PONG": {
      const out = header(KIND[frame.kind], frame.stream, frame.data.length);
      out.set(frame.data, HEADER_BYTES);
      return out;
    }
    default: {
      const text = JSON.stringify(frame.json);
      const length = Buffer.byteLength(text);
      if (length > MAXIMUM_PAYLOAD_BYTES) throw new RangeError("the request is larger than 1 MiB");
      const out = header(KIND[frame.kind], frame.stream, length);
      out.write(text, HEADER_BYTES);
      return out;
    }
  }
}

/** All of a DATA frame but its bytes, which can then be sent from where they are. */
export function encodeDataHeader(stream: number, channel: Channel, length: number): Buffer {
  const out = Buffer.allocUnsafe(HEADER_BYTES + 1);
  out.writeUInt32BE(length + 1, 0);
  out[4] = KIND.DATA;
  out.writeUInt32BE(stream, 5);
  out[HEADER_BYTES] = channel;
  return out;
}

function header(kind: number, stream: number, length: number): Buffer {
  const out = Buffer.allocUnsafe(HEADER_BYTES + length);
  out.writeUInt32BE(length, 0);
  out[4] = kind;
  out.writeUInt32BE(stream, 5);
  return out;
}
