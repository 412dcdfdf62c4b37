import { SandboxerError } from "@sandboxer/contract";

/** What the operator asks for an hour: SANDBOXER_PRICE_LOCAL_MICRO_USD_PER_HOUR for `local`, and so on. */
export function pricesByEnvironment(extensionIds: readonly string[]): Record<string, number> {
  const prices: Record<string, number> = {};
  for (const id of extensionIds) {
    const variable = `SANDBOXER_PRICE_${id.toUpperCase().replaceAll("-", "_")}_MICRO_USD_PER_HOUR`;
    const text = process.env[variable];
    if (!text) continue;
    if (!/^\d{1,12}$/.test(text)) {
      throw new SandboxerError("invalid_request", `${variable} is not a whole number of micro-dollars`, {
        hint: "A dollar an hour is 1000000.",
      });
    }
    prices[id] = Number(text);
  }
  return prices;
}
