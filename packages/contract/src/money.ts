import { z } from "zod";

/**
 * Money is an integer of micro-units, so a cent is 10,000. Sums stay exact as long as they stay
 * below 2^53, which is nine thousand million dollars; `addMicroUsd` refuses to go beyond.
 */
export const microUsdSchema = z.int();
export type MicroUsd = number;

export function addMicroUsd(...amounts: readonly MicroUsd[]): MicroUsd {
  const sum = amounts.reduce((total, amount) => total + amount, 0);
  if (!Number.isSafeInteger(sum)) throw new RangeError("a sum of money left the exact range");
  return sum;
}

/** What a rate per hour comes to over a span, rounded up so that a hold is never too small. */
export function costOver(microUsdPerHour: MicroUsd, durationMs: number): MicroUsd {
  return addMicroUsd(Math.ceil((microUsdPerHour * durationMs) / 3_600_000));
}
