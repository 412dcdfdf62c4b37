import { describe, expect, it } from "vitest";
import { ratio, statistics } from "./statistics.ts";

describe("statistics", () => {
  it("takes the middle of an odd number, and the mean of the two middle ones of an even number", () => {
    expect(statistics([9, 1, 5]).medianMs).toBe(5);
    expect(statistics([4, 1, 3, 2]).medianMs).toBe(2.5);
    expect(statistics([7])).toEqual({ samples: 1, medianMs: 7, p95Ms: 7, minMs: 7 });
  });

  it("gives the 95th of a hundred, whatever their order", () => {
    const shuffled = Array.from({ length: 100 }, (_, index) => ((index * 37) % 100) + 1);
    expect(statistics(shuffled)).toEqual({ samples: 100, medianMs: 50.5, p95Ms: 95, minMs: 1 });
  });

  it("is not moved by one outlier, but shows two of thirty", () => {
    const calm = Array.from({ length: 29 }, () => 2);
    expect(statistics([...calm, 900])).toMatchObject({ medianMs: 2, p95Ms: 2 });
    expect(statistics([...calm.slice(1), 900, 900]).p95Ms).toBe(900);
  });

  it("refuses to describe nothing", () => {
    expect(() => statistics([])).toThrow("nothing was measured");
  });
});

describe("ratio", () => {
  const [slow, fast] = [statistics([30]), statistics([10])];
  it("is how many times longer the peer takes", () => {
    expect(ratio(slow, fast)).toBe(3);
    expect(ratio(fast, slow)).toBeCloseTo(1 / 3);
  });
  it("is unknown where one of the two was not measured", () => {
    expect(ratio(undefined, fast)).toBeUndefined();
    expect(ratio(slow, undefined)).toBeUndefined();
  });
});
