import { expect, it } from "vitest";
import { MOST_NEW_NAMES, NewNames } from "./new-names.ts";

it("EG-4 so many new names within a minute, the known ones always, and more when their minute is over", () => {
  const names = new NewNames();
  const asked = (count: number, atMs: number) =>
    Array.from({ length: count }, (_, index) => names.mayAsk(`${atMs}-${index}.x.test`, atMs));
  expect(asked(MOST_NEW_NAMES - 1, 0)).not.toContain(false);
  expect(asked(2, 30_000)).toEqual([true, false]);
  expect(names.mayAsk("0-0.x.test", 30_000), "a known one").toBe(true);
  expect(names.mayAsk("0-0.x.test", 60_000)).toBe(true);
  expect(asked(MOST_NEW_NAMES, 60_001).filter((may) => !may)).toHaveLength(2);
});
