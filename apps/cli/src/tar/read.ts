import { Buffer } from "node:buffer";
import { SandboxerError } from "@sandboxer/contract";
import { BLOCK, padding } from "./block.ts";

/** One thing of an archive. `content` must be read, or left, before the next is asked for. */
export interface Member {
  readonly path: string;
  readonly type: "file" | "directory" | "symlink";
  readonly target: string;
  readonly mode: number;
  readonly size: number;
  readonly content: AsyncIterable<Uint8Array>;
}

const MOST_RECORD_BYTES = 64 << 10;
const TYPES: Readonly<Record<string, Member["type"]>> = { "0": "file", "5": "directory", "2": "symlink" };

/**
 * Reads the archives that a sandbox's `pack` makes, and nothing else: every byte comes from inside
 * and may be a trick, so what is not understood is refused.
 */
export async function* readArchive(source: AsyncIterable<Uint8Array>): AsyncGenerator<Member> {
  const bytes = createReader(source);
  for (let records = new Map<string, string>(); ; ) {
    const header = await bytes.take(BLOCK);
    if (header.every((byte) => byte === 0)) return;
    const type = String.fromCharCode(header[156] ?? 0);
    const size = Number(records.get("size") ?? octal(header, 124, 12));
    if (!Number.isSafeInteger(size) || checksum(header) !== octal(header, 148, 8)) throw broken();
    if (type === "x") {
      if (size > MOST_RECORD_BYTES) throw broken();
      records = recordsOf(await bytes.take(size));
      await bytes.skip(padding(size));
      continue;
    }
    const kind = TYPES[type];
    if (!kind) throw broken();
    let left = kind === "file" ? size : 0;
    async function* content(): AsyncGenerator<Uint8Array> {
      while (left > 0) {
        const part = await bytes.some(left);
        left -= part.length;
        yield part;
      }
    }
    yield {
      path: records.get("path") ?? textOf(header, 0, 100),
      target: records.get("linkpath") ?? textOf(header, 157, 100),
      type: kind,
      mode: octal(header, 100, 8) & 0o777,
      size,
      content: content(),
    };
    records = new Map();
    await bytes.skip(left + padding(size));
  }
}

function createReader(source: AsyncIterable<Uint8Array>) {
  const iterator = source[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  async function some(most: number): Promise<Uint8Array> {
    while (rest.length === 0) {
      const { done, value } = await iterator.next();
      if (done) throw broken();
      rest = value;
    }
    const part = rest.subarray(0, most);
    rest = rest.subarray(part.length);
    return part;
  }
  async function take(length: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for (let left = length; left > 0; left -= (parts.at(-1) as Uint8Array).length)
      parts.push(await some(left));
    return Buffer.concat(parts);
  }
  async function skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) left -= (await some(left)).length;
  }
  return { some, take, skip };
}

function recordsOf(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(" ", at);
    const length = Number(bytes.subarray(at, space).toString());
    const record = bytes.subarray(space + 1, at + length - 1).toString();
    const equals = record.indexOf("=");
    if (space < 0 || !Number.isSafeInteger(length) || length < 5 || equals < 1) throw broken();
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

function octal(block: Buffer, at: number, length: number): number {
  const text = textOf(block, at, length).trim();
  if (!/^[0-7]*$/.test(text)) throw broken();
  return text === "" ? 0 : Number.parseInt(text, 8);
}

function checksum(block: Buffer): number {
  const isItsOwn = (at: number) => at >= 148 && at < 156;
  return block.reduce((sum, byte, at) => sum + (isItsOwn(at) ? 32 : byte), 0);
}

function textOf(block: Buffer, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString();
}

function broken(): SandboxerError {
  return new SandboxerError("extension_failed", "the sandbox sent an archive that cannot be understood");
}
