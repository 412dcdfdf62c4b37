import { SandboxerError } from "@sandboxer/contract";
import type { Config } from "../config/schema.ts";

/** A key may burst for this long at its rate. */
const BURST_SECONDS = 2;
/** From so many on, those are forgotten that are as if they had never asked. */
const MOST_KNOWN = 10_000;

interface Use {
  tokens: number;
  atMs: number;
  under: number;
}

/** How much each key may ask at once and over time. */
export interface Limits {
  /** Counts one that begins; the returned function counts its end. */
  enter(keyId: string): () => void;
}

export function createLimits(
  { requestsPerSecond, concurrent }: Config["limits"],
  now = () => performance.now(),
): Limits {
  const uses = new Map<string, Use>();
  const most = Math.max(1, (requestsPerSecond ?? 0) * BURST_SECONDS);

  /** Forgotten once it is as if it had never asked. */
  const settle = (keyId: string, use: Use): void => {
    use.under -= 1;
    if (use.under === 0 && !requestsPerSecond) uses.delete(keyId);
  };
  const forgetIdle = (): void => {
    const longAgo = now() - BURST_SECONDS * 1_000;
    for (const [keyId, { under, atMs }] of uses) if (under === 0 && atMs < longAgo) uses.delete(keyId);
  };
  return {
    enter(keyId) {
      if (uses.size >= MOST_KNOWN) forgetIdle();
      const use = uses.get(keyId) ?? { tokens: most, atMs: now(), under: 0 };
      if (requestsPerSecond) draw(use, requestsPerSecond, most, now());
      if (use.under >= concurrent) throw limited(`at most ${concurrent} requests of one key at once`, 1_000);
      uses.set(keyId, use);
      use.under += 1;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        settle(keyId, use);
      };
    },
  };
}

function draw(use: Use, perSecond: number, most: number, nowMs: number): void {
  use.tokens = Math.min(most, use.tokens + ((nowMs - use.atMs) / 1_000) * perSecond);
  use.atMs = nowMs;
  if (use.tokens < 1) {
    throw limited(
      `at most ${perSecond} requests a second of one key`,
      ((1 - use.tokens) / perSecond) * 1_000,
    );
  }
  use.tokens -= 1;
}

function limited(message: string, retryAfterMs: number): SandboxerError {
  return new SandboxerError("rate_limited", message, { details: { retryAfterMs: Math.ceil(retryAfterMs) } });
}
