import type { RemoteProcess } from "./process.ts";

/** Works with a command until told to give up: then it is ended, and whoever waits is told the reason at once. */
export async function untilAborted<T>(
  start: () => Promise<RemoteProcess>,
  work: (process: RemoteProcess) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (!signal) return work(await start());
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const started = start();
  const abort = () => {
    reject(signal.reason);
    // One that starts only now would run for nobody.
    started.then(end).catch(() => {});
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([started.then(work), aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function end(process: RemoteProcess): Promise<void> {
  await process.signal("KILL").catch(() => {});
  process.detach();
}
