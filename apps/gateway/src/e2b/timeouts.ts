import {
  MAXIMUM_TTL_MS,
  MINIMUM_TTL_MS,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { notesOf } from "./labels.ts";

/** How long a paused sandbox is kept: the longest that any lives here. */
export const LONGEST_KEEP_MS = MAXIMUM_TTL_MS;
const RETENTION_MS = 3 * 24 * 3_600_000;

/**
 * How much longer one that sleeps at its end has to live to be there for whoever wakes it: of what
 * its key and its template leave at most a half, so that its end can be moved as well.
 */
export async function retentionFor(
  core: Core,
  principal: Principal,
  timeoutMs: number,
  mostMs = MAXIMUM_TTL_MS,
): Promise<number> {
  const { maximumTtlMs = MAXIMUM_TTL_MS } = (await core.whoami(principal)).rights;
  const longestMs = Math.min(maximumTtlMs, mostMs);
  const retentionMs = Math.min(RETENTION_MS, Math.floor((longestMs - timeoutMs) / 2));
  if (retentionMs >= MINIMUM_TTL_MS) return retentionMs;
  const why = `autoPause: a sandbox lives for ${longestMs / 1_000} s here, and nothing would be left of it to sleep`;
  throw new SandboxerError("invalid_request", why, { hint: "Give it a shorter timeout." });
}

export function retentionOf(sandbox: Sandbox): number {
  return Number(notesOf(sandbox)["retention-ms"] ?? 0);
}

/** The end as E2B has it: when it stops running, whatever becomes of it then. */
export function endOf(sandbox: Sandbox): number {
  const { expiresAtMs = sandbox.createdAtMs + sandbox.spec.ttlMs } = sandbox;
  return expiresAtMs - retentionOf(sandbox);
}
