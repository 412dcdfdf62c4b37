import { expect, it } from "vitest";
import { createArrivals } from "./arrivals.ts";

/** As a socket does it: writes into the room, says how much. */
function arrive(arrivals: ReturnType<typeof createArrivals>, length: number, mark: number): Buffer {
  arrivals.room().fill(mark, 0, length);
  return arrivals.take(length);
}

it("hands on what nothing that comes later writes over, however long each piece", () => {
  const arrivals = createArrivals();
  const lengths = [1, 8_192, 262_144, 100_000, 3, 4_096, 150_000, 8_191, 20, 20, 8_192, 4_095];
  const pieces = lengths.map((wanted, mark) => {
    const length = Math.min(wanted, arrivals.room().length);
    return { mark, length, bytes: arrive(arrivals, length, mark) };
  });
  for (const { mark, length, bytes } of pieces) {
    expect(bytes).toHaveLength(length);
    expect(bytes.every((byte) => byte === mark)).toBe(true);
  }
});

it("makes room for masses when they come, and gives it back when they are over", () => {
  const arrivals = createArrivals();
  const idle = arrivals.room().length;
  arrive(arrivals, idle, 1);
  expect(arrivals.room().length).toBeGreaterThan(65_536);
  for (let count = 0; count < 2; count += 1) arrive(arrivals, 10, 2);
  expect(arrivals.room().length).toBe(idle);
});

it("keeps only itself where a short one is kept", () => {
  const arrivals = createArrivals();
  arrive(arrivals, arrivals.room().length, 1);
  const { buffer } = arrivals.room();
  expect(arrive(arrivals, 100, 2).buffer).not.toBe(buffer);
  expect(arrive(arrivals, 4_096, 2).buffer).toBe(buffer);
});
