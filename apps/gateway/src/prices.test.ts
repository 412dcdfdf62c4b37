import { afterEach, expect, it, vi } from "vitest";
import { pricesByEnvironment } from "./prices.ts";

afterEach(() => vi.unstubAllEnvs());

it("takes a price for each extension that has one, and nothing that is no price", () => {
  vi.stubEnv("SANDBOXER_PRICE_LOCAL_MICRO_USD_PER_HOUR", "36000");
  vi.stubEnv("SANDBOXER_PRICE_COMPOSE_SSH_MICRO_USD_PER_HOUR", "0");
  vi.stubEnv("SANDBOXER_PRICE_LOCAL_PAUSED_MICRO_USD_PER_HOUR", "3600");
  expect(pricesByEnvironment(["local", "compose-ssh", "other"])).toEqual({
    local: { microUsdPerHour: 36_000, pausedMicroUsdPerHour: 3_600 },
    "compose-ssh": { microUsdPerHour: 0 },
  });
  for (const wrong of ["-1", "1.5", "1e6", "free", "9".repeat(13)]) {
    vi.stubEnv("SANDBOXER_PRICE_LOCAL_MICRO_USD_PER_HOUR", wrong);
    expect(() => pricesByEnvironment(["local"])).toThrow("micro-dollars");
  }
});
