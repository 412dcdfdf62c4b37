const QUIET_MS = 1_000;
const STEP_MS = 200;

/** Counts what passes; on a terminal, and only when it takes a while, says how much that is. */
export async function* counted(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const startedAt = performance.now();
  const { stderr } = process;
  let bytes = 0;
  let saidAt = startedAt + QUIET_MS - STEP_MS;
  let hasSaid = false;
  try {
    for await (const part of source) {
      bytes += part.length;
      const now = performance.now();
      if (stderr.isTTY && now - saidAt >= STEP_MS) {
        stderr.write(`\r${(bytes / (1 << 20)).toFixed(1)} MiB`);
        saidAt = now;
        hasSaid = true;
      }
      yield part;
    }
  } finally {
    if (hasSaid) stderr.write("\r\x1b[K");
  }
}
