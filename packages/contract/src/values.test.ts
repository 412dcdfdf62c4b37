import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nameSchema, newApiKey, newRowId, newSandboxId, rowIdSchema, sandboxIdSchema } from "./ids.ts";
import { ISOLATION_CLASSES, isAtLeast, stronger } from "./isolation.ts";
import { addMicroUsd, costOver } from "./money.ts";

describe("ids", () => {
  it("are of their own form and differ", () => {
    const ids = Array.from({ length: 1_000 }, newSandboxId);
    expect(ids.every((id) => sandboxIdSchema.safeParse(id).success)).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
    expect(rowIdSchema.safeParse(newRowId("org")).success).toBe(true);
    expect(newApiKey()).toMatch(/^e2b_[0-9a-f]{64}$/);
  });

  it("use the whole alphabet evenly", () => {
    const counts = new Map<string, number>();
    for (const character of Array.from({ length: 2_000 }, newSandboxId).join("")) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect(counts.size).toBe(36);
    for (const count of counts.values()) expect(Math.abs(count - 40_000 / 36)).toBeLessThan(250);
  });

  it.for(["", "-a", "a-", "A", "a_b", "a.b", "a/b", "ü", "a".repeat(64)])("refuse the name %j", (name) => {
    expect(nameSchema.safeParse(name).success).toBe(false);
  });
});

describe("isolation classes", () => {
  it("are ordered, and the stronger of two is at least both", () => {
    const either = fc.constantFrom(...ISOLATION_CLASSES);
    fc.assert(
      fc.property(either, either, (a, b) => {
        expect(isAtLeast(stronger(a, b), a) && isAtLeast(stronger(a, b), b)).toBe(true);
      }),
    );
    expect(isAtLeast("process", "microvm")).toBe(false);
  });
});

describe("money", () => {
  it("rounds a cost up and never leaves the exact range", () => {
    expect(costOver(3_600_000, 1)).toBe(1);
    expect(costOver(1, 1)).toBe(1);
    expect(costOver(0, 3_600_000)).toBe(0);
    expect(() => addMicroUsd(Number.MAX_SAFE_INTEGER, 1)).toThrow(RangeError);
  });
});
