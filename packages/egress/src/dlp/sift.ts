import { findPatterns, LONGEST } from "./patterns.ts";

/** What becomes of one that was found; whoever throws lets nothing of it out. */
export type OnMatch = (pattern: string) => Promise<"pass" | "mask">;

/** Passes bytes on, looking through them whatever the cuts; so much is held back as one can be long. */
export async function* sift(source: AsyncIterable<Buffer>, onMatch: OnMatch): AsyncGenerator<Buffer> {
  let held = "";
  for await (const part of source) {
    const text = held + part.toString("latin1");
    const { done, rest } = await siftText(text, Math.max(0, text.length - LONGEST), onMatch);
    if (done.length > 0) yield Buffer.from(done, "latin1");
    held = rest;
  }
  const { done } = await siftText(held, held.length, onMatch);
  if (done.length > 0) yield Buffer.from(done, "latin1");
}

/** What begins before `end` is settled; what is masked stays as long as it was. */
export async function siftText(
  text: string,
  end: number,
  onMatch: OnMatch,
): Promise<{ done: string; rest: string }> {
  let done = "";
  let from = 0;
  for (const { pattern, at, length } of findPatterns(text)) {
    if (at >= end || at < from) continue;
    const word = text.slice(at, at + length);
    done += text.slice(from, at) + ((await onMatch(pattern)) === "mask" ? "*".repeat(length) : word);
    from = at + length;
  }
  const cut = Math.max(from, end);
  return { done: done + text.slice(from, cut), rest: text.slice(cut) };
}
