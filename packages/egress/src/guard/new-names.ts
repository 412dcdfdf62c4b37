import { isIP } from "node:net";
import type { Policy } from "../policy/compile.ts";
import { type Resolve, Unreachable } from "../resolve.ts";

export const MOST_NEW_NAMES = 120;
const WINDOW_MS = 60_000;

/**
 * A name that no rule spells out, under a star or by the mode, is a word to whoever keeps its domain:
 * so many different ones within a minute, and no more. Those that rules name exactly are nobody's words.
 */
export class NewNames {
  readonly #askedAtMs = new Map<string, number>();

  mayAsk(host: string, nowMs: number): boolean {
    for (const [name, atMs] of this.#askedAtMs) {
      if (nowMs - atMs < WINDOW_MS) break;
      this.#askedAtMs.delete(name);
    }
    if (this.#askedAtMs.has(host)) return true;
    if (this.#askedAtMs.size >= MOST_NEW_NAMES) return false;
    this.#askedAtMs.set(host, nowMs);
    return true;
  }
}

export function resolveFor(
  { policy, newNames }: { readonly policy: Policy; readonly newNames: NewNames },
  resolve: Resolve,
): Resolve {
  return async (host, cidrs) => {
    const isSpelt = isIP(host) !== 0 || policy.exact.has(host);
    if (isSpelt || newNames.mayAsk(host, Date.now())) return resolve(host, cidrs);
    throw new Unreachable(
      `more than ${MOST_NEW_NAMES} names that no rule spells out, within a minute`,
      undefined,
    );
  };
}
