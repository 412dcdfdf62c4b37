import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import { archiveOf, type Member } from "./archive.ts";

const STRETCH = 16 << 20;
const GIB = 2 ** 30;

/** How much of something was asked for: what is refused early is not read to its end. */
export interface Fuse {
  bytes: number;
}

export async function* watched(fuse: Fuse, source: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const part of source) {
    fuse.bytes += part.length;
    yield part;
  }
}

/** The header of a file of ten gigabytes, of which nothing follows. */
export function tenGigabytes(name: string): Buffer {
  return archiveOf([{ name, size: 10 * GIB - 1 }], { isWhole: false });
}

/** Ten gigabytes of zeros in ten megabytes: gzip's members follow each other. */
export function zerosInGzip(head: Buffer): Buffer {
  const stretch = gzipSync(Buffer.alloc(STRETCH));
  return Buffer.concat([gzipSync(head), ...Array.from({ length: (10 * GIB) / STRETCH }, () => stretch)]);
}

/** The same as they are. */
export function* zeros(head: Buffer): Generator<Uint8Array> {
  yield head;
  const stretch = Buffer.alloc(1 << 20);
  for (let sent = 0; sent < 10 * GIB; sent += stretch.length) yield stretch;
}

/** Ten million entries, made as they are asked for. */
export function* tenMillion(memberAt: (at: number) => Member, each = 4_096): Generator<Buffer> {
  for (let at = 0; at < 10_000_000; at += each) {
    const members = Array.from({ length: each }, (_, next) => memberAt(at + next));
    yield archiveOf(members, { isWhole: false });
  }
}

/** Ten million that are all the same: nothing is made of them, so their names do not matter. */
export function* tenMillionTimes(member: Member, each = 4_096): Generator<Buffer> {
  const some = archiveOf(
    Array.from({ length: each }, () => member),
    { isWhole: false },
  );
  for (let at = 0; at < 10_000_000; at += each) yield some;
}
