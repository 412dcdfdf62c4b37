import { createHash } from "node:crypto";
import { pipeline, Readable, type Transform } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { type ByteSource, SandboxerError } from "@sandboxer/contract";
import { failed } from "./http.ts";

/** What a layer is said to be; what is left out is not known beforehand. */
export interface Expected {
  /** Of its bytes as they come, compressed or not. */
  readonly digest?: string;
  readonly size?: number;
  /** Of the archive. */
  readonly diffId?: string;
  /** Told how many bytes came. */
  readonly count?: (bytes: number) => void;
}

interface CheckedTar {
  /** Its end comes only if all before it was right. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Known once the bytes were read. */
  readonly diffId: Promise<string>;
}

/** A layer as an archive, whatever it is compressed by, checked while it passes. */
export function checkedTar(source: ByteSource, expected: Expected, mostBytes: number): CheckedTar {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  promise.catch(() => {});
  async function* run(): AsyncGenerator<Uint8Array> {
    try {
      const outer = counted(source, expected);
      const hash = createHash("sha256");
      for await (const part of atMost(mostBytes, await decompressed(outer.bytes))) {
        hash.update(part);
        yield part;
      }
      outer.check();
      const diffId = `sha256:${hash.digest("hex")}`;
      if (expected.diffId !== undefined && diffId !== expected.diffId) throw differs("a layer");
      resolve(diffId);
    } catch (error) {
      reject(error);
      throw error;
    }
  }
  return { bytes: run(), diffId: promise };
}

function counted(source: ByteSource, { digest, size, count }: Expected) {
  const hash = createHash("sha256");
  let length = 0;
  async function* run(): AsyncGenerator<Uint8Array> {
    for await (const part of source) {
      length += part.length;
      if (size !== undefined && length > size) throw differs("a layer");
      hash.update(part);
      count?.(part.length);
      yield part;
    }
  }
  return {
    bytes: run(),
    check() {
      if (size !== undefined && length !== size) throw failed("a layer was cut off");
      if (digest !== undefined && `sha256:${hash.digest("hex")}` !== digest) throw differs("a layer");
    },
  };
}

const MAGIC = { gzip: [0x1f, 0x8b], zstd: [0x28, 0xb5, 0x2f, 0xfd] } as const;

/** What its first bytes say, not what somebody says of it. */
export async function decompressed(source: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const iterator = source[Symbol.asyncIterator]();
  let head: Uint8Array = new Uint8Array();
  while (head.length < 4) {
    const { done, value } = await iterator.next();
    if (done) break;
    head = head.length === 0 ? value : Buffer.concat([head, value]);
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    if (head.length > 0) yield head;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  }
  const begins = (magic: readonly number[]) => magic.every((byte, at) => head[at] === byte);
  if (begins(MAGIC.gzip)) return through(whole(), createGunzip({ chunkSize: 256 * 1024 }));
  if (begins(MAGIC.zstd)) return through(whole(), createZstdDecompress({ chunkSize: 256 * 1024 }));
  return whole();
}

async function* through(source: AsyncIterable<Uint8Array>, decoder: Transform): AsyncGenerator<Uint8Array> {
  const stream = pipeline(Readable.from(source, { objectMode: false }), decoder, () => {});
  try {
    for await (const part of stream) yield part as Uint8Array;
  } catch (cause) {
    throw SandboxerError.is(cause) ? cause : failed("a layer is badly compressed", cause);
  }
}

/** Whatever a few bytes unpack to, and whatever follows what they are said to be. */
export async function* atMost(
  mostBytes: number,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const part of source) {
    length += part.length;
    if (length > mostBytes) throw tooLarge(mostBytes);
    yield part;
  }
}

export function differs(what: string): SandboxerError {
  return new SandboxerError("extension_failed", `${what} is not what its digest says`, {
    hint: "It was damaged or tampered with on its way; nothing of it was kept.",
  });
}

function tooLarge(mostBytes: number): SandboxerError {
  return new SandboxerError("storage_full", `it unpacks to more than ${mostBytes} bytes`, {
    hint: "images.maximumLayerMiB in the configuration is the most.",
  });
}
