import { expect, it } from "vitest";
import { Explanations } from "./explanations.ts";

const SECOND_MS = 1_000;

function told(explanations: Explanations, nowMs: number, tries: number): number {
  return Array.from({ length: tries }, () => explanations.mayTell(nowMs)).filter(Boolean).length;
}

it("EG-21 tells so many denials why at once, and then ten a second", () => {
  const explanations = new Explanations();
  const startMs = 1_700_000_000_000;
  expect(told(explanations, startMs, 1_000)).toBe(100);
  expect(told(explanations, startMs + SECOND_MS, 1_000)).toBe(10);
  expect(told(explanations, startMs + SECOND_MS + 50, 1_000)).toBe(0);
  expect(told(explanations, startMs + 3_600 * SECOND_MS, 1_000)).toBe(100);
});

it("tells nobody more because the clock was set back", () => {
  const explanations = new Explanations();
  expect(told(explanations, 3_600 * SECOND_MS, 1_000)).toBe(100);
  expect(told(explanations, 0, 1_000)).toBe(0);
});
