import { clearTimeout, setTimeout } from "node:timers";

/** Clients take five minutes without a byte for a lost connection. */
export const LONGEST_SILENCE_MS = 60_000;

/** What comes, or nothing when it takes too long. */
export async function within<T>(ms: number, coming: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([coming, silence]).finally(() => clearTimeout(timer));
}
