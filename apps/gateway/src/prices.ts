import { SandboxerError } from "@sandboxer/contract";

interface Price {
  readonly microUsdPerHour?: number;
  readonly pausedMicroUsdPerHour?: number;
}

/**
 * What the operator asks for an hour: SANDBOXER_PRICE_LOCAL_MICRO_USD_PER_HOUR for `local`, and
 * SANDBOXER_PRICE_LOCAL_PAUSED_MICRO_USD_PER_HOUR while it is paused; and so on.
 */
export function pricesByEnvironment(extensionIds: readonly string[]): Record<string, Price> {
  const prices: Record<string, Price> = {};
  for (const id of extensionIds) {
    const prefix = `SANDBOXER_PRICE_${id.toUpperCase().replaceAll("-", "_")}`;
    const running = amount(`${prefix}_MICRO_USD_PER_HOUR`);
    const paused = amount(`${prefix}_PAUSED_MICRO_USD_PER_HOUR`);
    if (running === undefined && paused === undefined) continue;
    prices[id] = {
      ...(running !== undefined && { microUsdPerHour: running }),
      ...(paused !== undefined && { pausedMicroUsdPerHour: paused }),
    };
  }
  return prices;
}

function amount(variable: string): number | undefined {
  const text = process.env[variable];
  if (!text) return undefined;
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new SandboxerError("invalid_request", `${variable} is not a whole number of micro-dollars`, {
    hint: "A dollar an hour is 1000000.",
  });
}
