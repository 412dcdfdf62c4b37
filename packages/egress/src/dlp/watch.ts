import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import type { Dlp } from "@sandboxer/contract";
import { Refused } from "../secrets/stopped.ts";
import { findPatterns } from "./patterns.ts";
import { type OnMatch, siftText } from "./sift.ts";

/** What looks like somebody's key was about to leave. */
export class Caught extends Refused {
  readonly misuse: { readonly secret: string; readonly what: "pattern"; readonly place: CaughtIn };

  constructor(pattern: string, place: CaughtIn) {
    super(`it holds what looks like a credential: ${pattern}`);
    this.misuse = { secret: pattern, what: "pattern", place };
  }
}

export type CaughtIn = "header" | "query" | "path" | "body" | "message";

export interface DlpParts {
  readonly dlp: Dlp;
  /** Whether somebody allows it. */
  ask(pattern: string): Promise<boolean>;
  /** Told of what is let through, changed or not. */
  seen(caught: Caught): void;
}

/** What the rules say about a credential in this place. What cannot be masked there is stopped instead. */
export function onMatchIn({ dlp, ask, seen }: DlpParts, place: CaughtIn, canMask: boolean): OnMatch {
  return async (pattern) => {
    const caught = new Caught(pattern, place);
    const isRedacted = dlp.onMatch === "redact" && canMask;
    const isAllowed = dlp.onMatch === "log" || (dlp.onMatch === "ask" && (await ask(pattern)));
    if (!isRedacted && !isAllowed) throw caught;
    seen(caught);
    return isRedacted ? "mask" : "pass";
  };
}

/** A header's value, or a part of the target, as it may leave. What cannot be masked is stopped instead. */
export async function siftWord(
  parts: DlpParts,
  place: CaughtIn,
  text: string,
  canMask = place !== "path",
): Promise<string> {
  if (findPatterns(text).length === 0) return text;
  return (await siftText(text, text.length, onMatchIn(parts, place, canMask))).done;
}

/** The same, but for these words, which look like credentials and are none. What is around them is looked at. */
export async function siftAround(
  parts: DlpParts,
  place: CaughtIn,
  text: string,
  [ours, ...others]: readonly string[],
): Promise<string> {
  if (ours === undefined) return siftWord(parts, place, text);
  const sifted: string[] = [];
  for (const piece of text.split(ours)) sifted.push(await siftAround(parts, place, piece, others));
  return sifted.join(ours);
}

const MOST_UNPACKED_BYTES = 64 * 2 ** 20;
const limit = { maxOutputLength: MOST_UNPACKED_BYTES };
const UNPACKERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gunzipSync(bytes, limit),
  "x-gzip": (bytes) => gunzipSync(bytes, limit),
  deflate: (bytes) => inflateSync(bytes, limit),
  br: (bytes) => brotliDecompressSync(bytes, limit),
  zstd: (bytes) => zstdDecompressSync(bytes, limit),
};

/** What is in a packed body; nothing where that cannot be told. */
export function unpack(coding: string, bytes: Buffer): Buffer | undefined {
  try {
    return UNPACKERS[coding]?.(bytes);
  } catch {
    return undefined;
  }
}
