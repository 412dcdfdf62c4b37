import { z } from "zod";
import { execRequestSchema, exitSchema, signalSchema, terminalSizeSchema } from "./process.ts";
import { errorSchema } from "./wire.ts";

/**
 * A command over one WebSocket: input, output, signals and the terminal's size. Words travel as
 * JSON, bytes as they are, each behind a short head.
 */
export const EXEC_PROTOCOL = "sandboxer.exec.v1";

/** Browsers can send a key in no other header: it follows this, as base64url, and is never echoed. */
export const KEY_PROTOCOL_PREFIX = "sandboxer.key.";
/** And, where the key acts through an attachment, which one. */
export const ATTACHMENT_PROTOCOL_PREFIX = "sandboxer.attachment.";

/** A reader that has not taken this much is sent no more, and the command waits as on a full pipe. */
export const EXEC_WINDOW_BYTES = 1 << 20;
/** The longest message in either direction. */
export const EXEC_MESSAGE_BYTES = 1 << 20;

const offset = z.int().nonnegative();

/** The first message: a new command, or one that goes on, from where its reader left off. */
export const execOpenSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("exec"), request: execRequestSchema }),
  z.strictObject({
    type: z.literal("attach"),
    process: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
    stdout: offset.optional(),
    stderr: offset.optional(),
  }),
]);
export type ExecOpen = z.input<typeof execOpenSchema>;

const id = z.int().min(0).max(0xffff_ffff);

/** What a client says afterwards. All but `took` are answered, by their id. */
export const execCommandSchema = z.discriminatedUnion("type", [
  /** So many bytes of output have been read. */
  z.strictObject({ type: z.literal("took"), bytes: offset }),
  z.strictObject({ type: z.literal("end"), id }),
  z.strictObject({ type: z.literal("signal"), id, signal: signalSchema }),
  z.strictObject({ type: z.literal("resize"), id, size: terminalSizeSchema }),
]);
export type ExecCommand = z.infer<typeof execCommandSchema>;

export const execReplySchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("started"), process: z.string(), pid: z.int().optional() }),
  z.strictObject({ type: z.literal("exit"), exit: exitSchema }),
  z.strictObject({ type: z.literal("done"), id }),
  z.strictObject({ type: z.literal("failed"), id, error: errorSchema }),
  /** It is over, and this is why. */
  z.strictObject({ type: z.literal("error"), error: errorSchema }),
]);
export type ExecReply = z.infer<typeof execReplySchema>;

const CHANNELS = ["stdout", "stderr"] as const;
const OUTPUT_HEAD_BYTES = 9;
const INPUT_HEAD_BYTES = 4;

export interface Output {
  readonly type: (typeof CHANNELS)[number];
  readonly offset: number;
  readonly data: Uint8Array;
}

/** The channel in one byte, the offset in eight, then the bytes. */
export function encodeOutput({ type, offset, data }: Output): Uint8Array {
  const message = new Uint8Array(OUTPUT_HEAD_BYTES + data.length);
  const head = new DataView(message.buffer);
  head.setUint8(0, CHANNELS.indexOf(type));
  head.setUint32(1, Math.floor(offset / 2 ** 32));
  head.setUint32(5, offset % 2 ** 32);
  message.set(data, OUTPUT_HEAD_BYTES);
  return message;
}

export function decodeOutput(message: ArrayBuffer): Output | undefined {
  if (message.byteLength < OUTPUT_HEAD_BYTES) return undefined;
  const head = new DataView(message);
  const type = CHANNELS[head.getUint8(0)];
  const offset = head.getUint32(1) * 2 ** 32 + head.getUint32(5);
  return type && { type, offset, data: new Uint8Array(message, OUTPUT_HEAD_BYTES) };
}

/** The id in four bytes, then what goes to the command's input. */
export function encodeInput(inputId: number, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(INPUT_HEAD_BYTES + data.length);
  new DataView(message.buffer).setUint32(0, inputId);
  message.set(data, INPUT_HEAD_BYTES);
  return message;
}

export function decodeInput(message: Uint8Array): { id: number; data: Uint8Array } | undefined {
  if (message.length < INPUT_HEAD_BYTES) return undefined;
  const head = new DataView(message.buffer, message.byteOffset);
  return { id: head.getUint32(0), data: message.subarray(INPUT_HEAD_BYTES) };
}
