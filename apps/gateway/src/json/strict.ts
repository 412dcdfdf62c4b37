import { SandboxerError } from "@sandboxer/contract";
import { repeatedName } from "./repeated.ts";

const MAXIMUM_DEPTH = 64;

/** JSON that every reader reads alike, bounded in depth before any schema sees it. */
export function parseStrictly(bytes: Uint8Array): unknown {
  const { text, value } = parse(bytes);
  checkShape(value);
  const twice = repeatedName(text);
  if (twice === undefined) return value;
  throw new SandboxerError("invalid_request", `${JSON.stringify(twice.slice(0, 100))} is said twice`);
}

function parse(bytes: Uint8Array): { text: string; value: unknown } {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text, value: JSON.parse(text) };
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
