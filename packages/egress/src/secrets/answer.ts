import type { IncomingMessage } from "node:http";
import { Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import type { Book } from "./book.ts";
import { findFirst, replaceIn } from "./scan.ts";
import { Refused } from "./stopped.ts";

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** What becomes of an answer on its way in. */
export interface Masking {
  change(body: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
  changeWord(word: string): string;
  /** It is passed on as plain text, so it must not say that it is packed. */
  readonly drops: ReadonlySet<string>;
}

/** Wherever a secret comes back, its placeholder is what the sandbox sees. */
export function maskingOf({ masks }: Book, answer: IncomingMessage): Masking {
  const coding = answer.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  const unpack = coding === "identity" || coding === "" ? undefined : DECODERS[coding];
  if (coding !== "identity" && coding !== "" && !unpack) {
    throw new Refused(`the answer is packed as nobody here can read: ${coding.slice(0, 20)}`);
  }
  return {
    change: (body) => replaceIn(unpack ? unpacked(body, unpack()) : body, masks, ({ means }) => means),
    changeWord: (word) => maskText({ masks }, word),
    drops: new Set(unpack ? ["content-encoding"] : []),
  };
}

export function maskText({ masks }: Pick<Book, "masks">, text: string): string {
  let [rest, done] = [Buffer.from(text, "latin1"), ""];
  for (let found = findFirst(rest, masks); found; found = findFirst(rest, masks)) {
    done += rest.toString("latin1", 0, found.at) + found.needle.means.toString("latin1");
    rest = rest.subarray(found.at + found.needle.bytes.length);
  }
  return done + rest.toString("latin1");
}

function unpacked(body: AsyncIterable<Buffer>, decoder: Transform): AsyncIterable<Buffer> {
  const source = Readable.from(body);
  source.once("error", (error) => decoder.destroy(error));
  return source.pipe(decoder) as AsyncIterable<Buffer>;
}
