import { createReadStream } from "node:fs";
import { mkdir, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Room } from "./room.ts";
import { tampered } from "./verify.ts";

const BLOCK = 512;
/** All that a layout has. Nothing else is written out, and nothing else is taken in. */
const NAME = /^(?:oci-layout|index\.json|blobs\/sha256\/[0-9a-f]{64})$/;
/** As many layers as a manifest may name, and what describes them. */
const MOST_FILES = 64 + 4;

/** A layout as one file: a tar archive that every tool for OCI layouts reads. */
export async function* packLayout(dir: string): AsyncGenerator<Uint8Array> {
  const blobs = (await readdir(join(dir, "blobs/sha256"))).map((name) => `blobs/sha256/${name}`);
  for (const name of ["oci-layout", "index.json", ...blobs.sort()].filter((name) => NAME.test(name))) {
    const { size } = await stat(join(dir, name));
    yield headerOf(name, size);
    for await (const part of createReadStream(join(dir, name))) yield part as Uint8Array;
    yield new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
  }
  yield new Uint8Array(2 * BLOCK);
}

function headerOf(name: string, size: number): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write("0000600\0", 100);
  block.write("0000000\0", 108);
  block.write("0000000\0", 116);
  if (size < 8 ** 11) block.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  else {
    block[124] = 0x80;
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  block.write("00000000000\0", 136);
  block.fill(" ", 148, 156);
  block.write("0", 156);
  block.write("ustar\x0000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** Takes one apart again. Names are matched, never followed; each may come once. */
export async function unpackLayout(
  dir: string,
  source: AsyncIterable<Uint8Array>,
  room: Room,
): Promise<void> {
  await mkdir(join(dir, "blobs/sha256"), { recursive: true, mode: 0o700 });
  const bytes = createReader(source);
  const seen = new Set<string>();
  for (;;) {
    const header = await bytes.exactly(BLOCK);
    if (header.every((byte) => byte === 0)) return;
    const { name, size } = parseHeader(header);
    if (!NAME.test(name) || seen.has(name) || seen.size === MOST_FILES)
      throw tampered("it holds something else");
    seen.add(name);
    room.take(size);
    const file = await open(join(dir, name), "wx", 0o600);
    try {
      for (let left = size; left > 0; ) {
        const part = await bytes.atMost(left);
        left -= part.length;
        await file.writev([part]);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    const padding = await bytes.exactly((BLOCK - (size % BLOCK)) % BLOCK);
    if (!padding.every((byte) => byte === 0)) throw tampered("it holds something else");
  }
}

function parseHeader(block: Buffer): { name: string; size: number } {
  const text = (from: number, to: number) => block.toString("latin1", from, to).replace(/[\0 ].*$/s, "");
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (Number.parseInt(text(148, 156), 8) !== sum || !["0", ""].includes(text(156, 157))) {
    throw tampered("it is no archive of a snapshot");
  }
  const size = block[124] === 0x80 ? Number(block.readBigUInt64BE(128)) : Number.parseInt(text(124, 136), 8);
  if (!Number.isSafeInteger(size) || size < 0) throw tampered("it is no archive of a snapshot");
  return { name: text(0, 100), size };
}

function createReader(source: AsyncIterable<Uint8Array>) {
  const iterator = source[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  const atMost = async (count: number): Promise<Uint8Array> => {
    while (rest.length === 0) {
      const { done, value } = await iterator.next();
      if (done) throw tampered("the archive is cut off");
      rest = value;
    }
    const part = rest.subarray(0, count);
    rest = rest.subarray(part.length);
    return part;
  };
  const exactly = async (count: number): Promise<Buffer> => {
    const parts: Uint8Array[] = [];
    for (let left = count; left > 0; ) {
      const part = await atMost(left);
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts);
  };
  return { atMost, exactly };
}
