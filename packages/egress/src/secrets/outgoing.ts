import { sift } from "../dlp/sift.ts";
import { type DlpParts, onMatchIn, siftAround, unpack } from "../dlp/watch.ts";
import { type BodyKind, fillBody, gather, guardBody } from "./body.ts";
import type { Filling } from "./head.ts";
import type { SignedBody } from "./resign.ts";
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
  /** Where it had to be read as a whole, to be signed. */
  readonly whole?: SignedBody;
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

/** A body that is signed, and whose hash nobody said, waits here until all of it is there. */
const MOST_SIGNED_BYTES = 16 * 2 ** 20;

export async function wholeBody(
  filling: Filling,
  facts: BodyFacts,
  source: AsyncGenerator<Buffer>,
): Promise<OutgoingBody> {
  const { bytes: came, isWhole } = await gather(source, MOST_SIGNED_BYTES);
  if (!isWhole) {
    throw new Refused("its body is too long to be signed without x-amz-content-sha256, which says its hash");
  }
  const { stream } = await outgoingBody(filling, facts, only(came));
  const parts: Buffer[] = [];
  for (let next = await stream.next(); !next.done; next = await stream.next()) parts.push(next.value);
  const goes = Buffer.concat(parts);
  const length = goes.length === came.length ? {} : { bytes: goes.length };
  return { stream: only(goes), whole: { came, goes }, ...length };
}

/** What stands for a secret looks like one, and is not. */
async function siftedWhole({ usable }: Filling, dlp: DlpParts, bytes: Buffer): Promise<Buffer> {
  const ours = usable.map(({ placeholder }) => placeholder);
  return Buffer.from(await siftAround(dlp, "body", bytes.toString("latin1"), ours), "latin1");
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
