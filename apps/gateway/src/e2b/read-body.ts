import type { IncomingMessage } from "node:http";
import { SandboxerError } from "@sandboxer/contract";
import { wholeOf } from "../incoming.ts";

const MAXIMUM_JSON_BYTES = 8 << 20;

export async function readBounded(incoming: IncomingMessage, maximumBytes: number): Promise<Uint8Array> {
  const whole = await wholeOf(incoming, maximumBytes);
  if (whole) return whole;
  throw new SandboxerError("payload_too_large", `a body has at most ${maximumBytes} bytes here`);
}

/** A body of JSON; nothing at all is an empty object, as E2B's clients mean it. */
export async function readJsonBody(incoming: IncomingMessage): Promise<unknown> {
  return parseJson(await readBounded(incoming, MAXIMUM_JSON_BYTES));
}

/** A message of Connect's: what is `null` in it was not given. */
export function parseMessage(bytes: Uint8Array): unknown {
  return parseJson(bytes, (_, value) => (value === null ? undefined : value));
}

export function parseJson(bytes: Uint8Array, revive?: (name: string, value: unknown) => unknown): unknown {
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes), revive);
  } catch {
    throw new SandboxerError("invalid_request", "the body is not JSON in UTF-8");
  }
}
