import type { IncomingMessage } from "node:http";
import { SandboxerError } from "@sandboxer/contract";

const MAXIMUM_JSON_BYTES = 8 << 20;

export async function readBounded(incoming: IncomingMessage, maximumBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of incoming.iterator({ destroyOnReturn: false })) {
    bytes += part.length;
    if (bytes > maximumBytes) {
      throw new SandboxerError("payload_too_large", `a body has at most ${maximumBytes} bytes here`);
    }
    parts.push(part);
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
}

/** A body of JSON; nothing at all is an empty object, as E2B's clients mean it. */
export async function readJsonBody(incoming: IncomingMessage): Promise<unknown> {
  return parseJson(await readBounded(incoming, MAXIMUM_JSON_BYTES));
}

export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new SandboxerError("invalid_request", "the body is not JSON in UTF-8");
  }
}
