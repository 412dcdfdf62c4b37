import { concatenate, SandboxerError } from "@sandboxer/contract";
import type { Asked } from "../exchange.ts";

const MAXIMUM_BYTES = 4 << 20;
const MAXIMUM_DEPTH = 64;

/** A JSON body, bounded in size and depth before any schema sees it. */
export async function readJson(request: Asked): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json *(?:;|$)/i.test(type)) {
    // Also what keeps a form on some web page from posting here.
    throw new SandboxerError("invalid_request", "the body must be of content-type application/json");
  }
  const value = parse(await readBounded(request));
  checkShape(value);
  return value;
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

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new SandboxerError("invalid_request", "the body is not JSON in UTF-8");
  }
}

/** Without recursion: the depth is the caller's to choose. */
function checkShape(whole: unknown): void {
  let level: unknown[] = [whole];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAXIMUM_DEPTH) {
      throw new SandboxerError("invalid_request", `the body is nested deeper than ${MAXIMUM_DEPTH}`);
    }
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === "string") checkText(value);
      else if (Array.isArray(value)) for (const item of value) next.push(item);
      else if (typeof value === "object" && value !== null) {
        for (const [key, member] of Object.entries(value)) {
          checkText(key);
          if (key === "__proto__")
            throw new SandboxerError("invalid_request", "`__proto__` is not a member's name");
          next.push(member);
        }
      }
    }
    level = next;
  }
}

/** Half a surrogate pair would arrive as another character than was sent. */
function checkText(text: string): void {
  if (!text.isWellFormed())
    throw new SandboxerError("invalid_request", "a string of the body is not Unicode text");
}
