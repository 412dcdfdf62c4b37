import { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { BLOCK, padding } from "./block.ts";

const LONGEST_NAME = 100;
const MOST_SIZE = 0o77777777777;

interface Facts {
  readonly name: string;
  readonly type: "0" | "2" | "5" | "x";
  readonly mode: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly target?: string;
}

/** A folder of this machine as a tar archive, its content named as seen from it. No link is followed. */
export async function* packFolder(folder: string): AsyncGenerator<Uint8Array> {
  const pending = ["."];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const path = join(folder, next);
    const found = await lstat(path);
    const { mode, mtimeMs } = found;
    const facts = { mode: mode & 0o7777, mtimeMs, size: 0 };
    if (found.isDirectory()) {
      yield headerOf({ ...facts, name: `${next}/`, type: "5" });
      for (const name of await readdir(path)) pending.push(next === "." ? name : `${next}/${name}`);
    } else if (found.isSymbolicLink()) {
      yield headerOf({ ...facts, name: next, type: "2", target: await readlink(path) });
    } else if (found.isFile()) {
      yield headerOf({ ...facts, name: next, type: "0", size: found.size });
      yield* contentOf(path, found.size);
    }
  }
  yield new Uint8Array(2 * BLOCK);
}

/** As many bytes as were announced, also of a file that has changed since. */
async function* contentOf(path: string, size: number): AsyncGenerator<Uint8Array> {
  let left = size;
  if (size > 0) {
    for await (const chunk of createReadStream(path, { end: size - 1, highWaterMark: 256 << 10 })) {
      left -= (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  }
  for (; left > 0; left -= Math.min(left, 65_536)) yield new Uint8Array(Math.min(left, 65_536));
  yield new Uint8Array(padding(size));
}

function headerOf(facts: Facts): Uint8Array {
  const { name, target = "", size } = facts;
  const isLong = (text: string) => Buffer.byteLength(text) > LONGEST_NAME;
  const records = [
    ...(isLong(name) ? [recordOf("path", name)] : []),
    ...(isLong(target) ? [recordOf("linkpath", target)] : []),
    ...(size > MOST_SIZE ? [recordOf("size", String(size))] : []),
  ].join("");
  if (records === "") return blockOf(facts);
  const length = Buffer.byteLength(records);
  const before = blockOf({ ...facts, name: "PaxHeader", type: "x", target: "", size: length });
  return Buffer.concat([before, Buffer.from(records), Buffer.alloc(padding(length)), blockOf(facts)]);
}

function recordOf(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest;
  while (length !== rest + String(length).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function blockOf({ name, type, mode, size, mtimeMs, target = "" }: Facts): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number) =>
    block.write(Math.max(0, value).toString(8).padStart(digits, "0"), at);
  block.write(name, 0, LONGEST_NAME);
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(Math.min(size, MOST_SIZE), 124, 11);
  octal(Math.floor(mtimeMs / 1000), 136, 11);
  block.write(type, 156);
  block.write(target, 157, LONGEST_NAME);
  block.write("ustar\x0000", 257, "latin1");
  block.fill(" ", 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  octal(sum, 148, 6);
  block[154] = 0;
  return block;
}
