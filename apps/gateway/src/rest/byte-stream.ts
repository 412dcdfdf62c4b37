/**
 * Bytes as a body, read only as fast as they are taken. `leave` is called at once when the reader
 * goes: a source that waits for its next byte would not hear of it before that.
 */
export function byteStream(
  source: AsyncIterable<Uint8Array>,
  leave: () => void = () => {},
): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        leave();
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
