import { sift } from "../dlp/sift.ts";
import { type DlpParts, onMatchIn, siftWord, unpack } from "../dlp/watch.ts";
import { type BodyKind, fillBody, gather, guardBody } from "./body.ts";
import type { Filling } from "./head.ts";
import { Refused } from "./stopped.ts";

/** What is known of a body before any of it was read. */
export interface BodyFacts {
  readonly kind: BodyKind;
  /** In small letters; `identity` where it is as it is. */
  readonly coding: string;
  /** Absent where only the sandbox's own secrets are looked for. */
  readonly dlp?: DlpParts | undefined;
}

export interface OutgoingBody {
  readonly stream: AsyncIterator<Buffer>;
  /** Where the length is another than was said. */
  readonly bytes?: number;
}

/** A body as it may leave: looked through, with its secrets in place. */
export async function outgoingBody(
  filling: Filling,
  facts: BodyFacts,
  source: AsyncGenerator<Buffer>,
): Promise<OutgoingBody> {
  const { kind, coding, dlp } = facts;
  if (coding !== "identity") return packedBody(filling, facts, source);
  const sifted = (body: AsyncIterable<Buffer>) => (dlp ? sift(body, onMatchIn(dlp, "body", true)) : body);
  const guarded = (body: AsyncIterable<Buffer>) => ({
    stream: guardBody(filling, sifted(body))[Symbol.asyncIterator](),
  });
  if (!filling.usable.some(({ hasBodyCell }) => hasBodyCell(filling.to))) return guarded(source);
  const { bytes, isWhole } = await gather(source);
  if (!isWhole) return guarded(chained(bytes, source));
  const seen = dlp ? await siftedWhole(filling, dlp, bytes) : bytes;
  const filled = fillBody(filling, kind, seen);
  return { stream: only(filled), ...(filled.length !== bytes.length && { bytes: filled.length }) };
}

/** What stands for a secret looks like one, and is not. */
async function siftedWhole({ usable }: Filling, dlp: DlpParts, bytes: Buffer): Promise<Buffer> {
  const text = bytes.toString("latin1");
  if (usable.some(({ placeholder }) => text.includes(placeholder))) return bytes;
  return Buffer.from(await siftWord(dlp, "body", text), "latin1");
}

/** Packed bodies are unpacked to be looked through, and leave as they came. */
async function packedBody(
  filling: Filling,
  { coding, dlp }: BodyFacts,
  source: AsyncGenerator<Buffer>,
): Promise<OutgoingBody> {
  const { bytes, isWhole } = await gather(source);
  const plain = isWhole ? unpack(coding, bytes) : undefined;
  if (!plain && dlp?.dlp.undecodable === "block") {
    throw new Refused(`its body is packed as nobody here can read: ${coding.slice(0, 20)}`);
  }
  if (!plain) return { stream: guardBody(filling, chained(bytes, source))[Symbol.asyncIterator]() };
  for await (const _ of guardBody(filling, only(plain)));
  if (dlp) for await (const _ of sift(only(plain), onMatchIn(dlp, "body", false)));
  return { stream: only(bytes) };
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
}

async function* chained(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
