import { type ByteSource, concatenate } from "@sandboxer/contract";

/** Up to here a body is sent in one piece: one request everywhere, browsers included. */
const WHOLE_BYTES = 1 << 20;

/** Longer sources are streamed, which not every browser can do; none is ever held whole in memory. */
export async function uploadOf(source: ByteSource): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const iterator = iteratorOf(source);
  const parts: Uint8Array[] = [];
  for (let bytes = 0; bytes <= WHOLE_BYTES; ) {
    const { done, value } = await iterator.next();
    if (done) return concatenate(parts);
    parts.push(value);
    bytes += value.length;
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part = parts.shift();
      if (part) return controller.enqueue(part);
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

type Parts = AsyncIterator<Uint8Array, undefined> | Iterator<Uint8Array, undefined>;

function iteratorOf(source: ByteSource): Parts {
  return (
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  ) as Parts;
}
