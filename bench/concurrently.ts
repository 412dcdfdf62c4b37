/** Does the work `count` times, never more than `width` at once. Returns how many seconds it took. */
export async function concurrently(
  count: number,
  width: number,
  signal: AbortSignal,
  work: (index: number) => Promise<void>,
): Promise<number> {
  const begun = performance.now();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      signal.throwIfAborted();
      await work(next++);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return (performance.now() - begun) / 1000;
}
