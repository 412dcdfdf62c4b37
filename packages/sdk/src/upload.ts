import { type ByteSource, concatenate, SandboxerError } from "@sandboxer/contract";

/** What a file can be made of: text, bytes, or parts of either that come one after the other. */
export type Content = string | Uint8Array | ArrayBuffer | ByteSource;

/** Up to here a body is sent in one piece: one request everywhere, browsers included. */
const WHOLE_BYTES = 1 << 20;

/** Longer sources are streamed, which not every browser can do; none is ever held whole in memory. */
export async function uploadOf(source: Content): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const iterator = iteratorOf(source);
  const parts: Uint8Array[] = [];
  for (let bytes = 0; bytes <= WHOLE_BYTES; ) {
    const { done, value } = await iterator.next();
    if (done) return concatenate(parts);
    const part = bytesOf(value);
    parts.push(part);
    bytes += part.length;
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part = parts.shift();
      if (part) return controller.enqueue(part);
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(bytesOf(value));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

type Parts = AsyncIterator<unknown, undefined> | Iterator<unknown, undefined>;

function iteratorOf(source: Content): Parts {
  if (isWhole(source)) return [source].values() as Parts;
  if (typeof source !== "object" || source === null) throw notBytes();
  if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]() as Parts;
  if (Symbol.iterator in source) return source[Symbol.iterator]() as Parts;
  throw notBytes();
}

function isWhole(value: unknown): value is string | Uint8Array | ArrayBuffer {
  return typeof value === "string" || value instanceof Uint8Array || value instanceof ArrayBuffer;
}

function bytesOf(part: unknown): Uint8Array {
  if (!isWhole(part)) throw notBytes();
  if (typeof part === "string") return new TextEncoder().encode(part);
  return part instanceof Uint8Array ? part : new Uint8Array(part);
}

function notBytes(): SandboxerError {
  return new SandboxerError("invalid_request", "content is text, bytes, or a stream of either", {
    hint: "Give a string, a Uint8Array, a stream or an array of such parts.",
  });
}
