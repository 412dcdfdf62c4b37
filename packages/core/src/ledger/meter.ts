import { costOver } from "@sandboxer/contract";

export interface Reading {
  readonly microUsdPerHour: number;
  /** Absent when it never ran. */
  readonly startedAtMs: number | undefined;
  readonly expiresAtMs: number | undefined;
  readonly endedAtMs: number;
  readonly heldMicroUsd: number;
  /** Charged before, for an earlier stretch. Rounding up happens once over all of them. */
  readonly capturedMicroUsd?: number;
}

export interface Charge {
  readonly captureMicroUsd: number;
  readonly releaseMicroUsd: number;
}

/**
 * What a sandbox cost, from times of our own clock and nothing that came out of the sandbox.
 * capture + release = hold, always: a clock that went back charges nothing, and an end noticed
 * late is the gateway's loss, since nobody pays past the expiry or beyond what was held.
 */
export function meter(reading: Reading): Charge {
  const { startedAtMs, endedAtMs, expiresAtMs = endedAtMs, heldMicroUsd, capturedMicroUsd = 0 } = reading;
  const ranMs = startedAtMs === undefined ? 0 : Math.max(0, Math.min(endedAtMs, expiresAtMs) - startedAtMs);
  const dueMicroUsd = Math.max(0, costOver(reading.microUsdPerHour, ranMs) - capturedMicroUsd);
  const captureMicroUsd = Math.min(heldMicroUsd, dueMicroUsd);
  return { captureMicroUsd, releaseMicroUsd: heldMicroUsd - captureMicroUsd };
}
