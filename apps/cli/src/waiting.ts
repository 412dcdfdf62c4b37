const QUIET_MS = 1_000;
const STEP_MS = 500;

/** On a terminal, and only when it takes a while, says what is being waited for. Leaves no trace. */
export async function waiting<T>(what: string, work: Promise<T>): Promise<T> {
  const { stderr } = process;
  if (!stderr.isTTY) return work;
  const startedAt = performance.now();
  let hasSaid = false;
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs < QUIET_MS) return;
    hasSaid = true;
    stderr.write(`\r${what}, ${Math.round(elapsedMs / 1_000)}s\x1b[K`);
  }, STEP_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (hasSaid) stderr.write("\r\x1b[K");
  }
}
