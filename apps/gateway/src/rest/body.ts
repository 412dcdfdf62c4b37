import { concatenate, SandboxerError } from "@sandboxer/contract";

const MAXIMUM_BYTES = 4 << 20;
const MAXIMUM_DEPTH = 64;

/** A JSON body, bounded in size and depth before any schema sees it. */
export async function readJson(request: Request): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json *(?:;|$)/i.test(type)) {
    // Also what keeps a form on some web page from posting here.
    throw new SandboxerError("invalid_request", "the body must be of content-type application/json");
  }
  const value = parse(await readBounded(request));
  checkShape(value);
  return value;
}

async function readBounded(request: Request): Promise<Uint8Array> {
  const tooLarge = () =>
    new SandboxerError("payload_too_large", `a JSON body has at most ${MAXIMUM_BYTES} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > MAXIMUM_BYTES) throw tooLarge();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request.body ?? []) {
    bytes += part.length;
    if (bytes > MAXIMUM_BYTES) throw tooLarge();
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
