import { concatenate, SandboxerError } from "@sandboxer/contract";
import type { Asked } from "../exchange.ts";
import { parseStrictly } from "../json/strict.ts";

const MAXIMUM_BYTES = 4 << 20;

/** A JSON body, bounded in size before anything reads it. */
export async function readJson(request: Asked): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json *(?:;|$)/i.test(type)) {
    // Also what keeps a form on some web page from posting here.
    throw new SandboxerError("invalid_request", "the body must be of content-type application/json");
  }
  return parseStrictly(await readBounded(request));
}

async function readBounded(asked: Asked): Promise<Uint8Array> {
  const isLonger = Number(asked.headers.get("content-length") ?? 0) > MAXIMUM_BYTES;
  const whole = isLonger
    ? undefined
    : await (asked.whole?.(MAXIMUM_BYTES) ?? readAll(asked.body, MAXIMUM_BYTES));
  if (whole) return whole;
  throw new SandboxerError("payload_too_large", `a JSON body has at most ${MAXIMUM_BYTES} bytes`);
}

async function readAll(body: Asked["body"], atMost: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > atMost) return undefined;
    parts.push(part);
  }
  return concatenate(parts);
}
