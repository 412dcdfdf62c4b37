import fc from "fast-check";
import { expect, it } from "vitest";
import { meter } from "./meter.ts";

const atMs = fc.integer({ min: 0, max: 10 ** 12 });

it("captures and releases exactly what was held, never less than nothing", () => {
  const readings = fc.record({
    microUsdPerHour: fc.nat(10 ** 8),
    startedAtMs: fc.option(atMs, { nil: undefined }),
    expiresAtMs: fc.option(atMs, { nil: undefined }),
    endedAtMs: atMs,
    heldMicroUsd: fc.nat(10 ** 9),
  });
  fc.assert(
    fc.property(readings, (reading) => {
      const { captureMicroUsd, releaseMicroUsd } = meter(reading);
      expect(captureMicroUsd + releaseMicroUsd).toBe(reading.heldMicroUsd);
      expect(Math.min(captureMicroUsd, releaseMicroUsd)).toBeGreaterThanOrEqual(0);
      if (reading.startedAtMs === undefined) expect(captureMicroUsd).toBe(0);
    }),
  );
});

it("charges for the time it ran, up to its expiry, and nothing where the clock went back", () => {
  const reading = {
    microUsdPerHour: 3_600_000,
    startedAtMs: 1_000,
    expiresAtMs: 11_000,
    heldMicroUsd: 10_000,
  };
  expect(meter({ ...reading, endedAtMs: 3_500 }).captureMicroUsd).toBe(2_500);
  expect(meter({ ...reading, endedAtMs: 99_000 }).captureMicroUsd).toBe(10_000);
  expect(meter({ ...reading, endedAtMs: 500 }).captureMicroUsd).toBe(0);
});
