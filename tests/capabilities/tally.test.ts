import { describe, expect, it } from "vitest";
import { type Counted, shortfalls, summary, tally, unsteadiness } from "./tally.ts";

const test = (
  state: Counted["state"],
  requires: string[] = [],
  missing: Record<string, string> = {},
): Counted => ({
  state,
  requires,
  missing,
});

describe("tally", () => {
  const counts = tally([
    test("passed"),
    test("passed", ["root"]),
    test("failed", ["root", "boxd"]),
    test("skipped", ["root", "docker"], { docker: "no dockerd: install it" }),
    test("skipped"),
  ]);

  it("counts states, and each capability's tests", () => {
    expect(counts).toEqual({
      passed: 2,
      failed: 1,
      skipped: 2,
      secondTries: [],
      capabilities: {
        root: { ran: 2, skipped: 1 },
        boxd: { ran: 1, skipped: 0 },
        docker: { ran: 0, skipped: 1, why: "no dockerd: install it" },
      },
    });
  });

  it("prints what is missing in one line, and closes with the line that CI reads", () => {
    expect(summary(counts)).toEqual([
      "Tests by what they need of the machine",
      "  boxd    1 ran, 0 skipped",
      "  docker  0 ran, 1 skipped: no dockerd: install it",
      "  root    2 ran, 1 skipped",
      "",
      "2 passed, 1 failed, 2 skipped",
    ]);
    expect(summary(tally([]))).toEqual(["0 passed, 0 failed, 0 skipped"]);
  });

  it("names every capability that ran fewer tests than promised, and only those", () => {
    expect(shortfalls(counts, { root: 2, boxd: 0 })).toEqual([]);
    expect(shortfalls(counts, { root: 3, docker: 1, qemu: 1 })).toEqual([
      "root: 2 tests ran, and expected.json promises 3",
      "docker: 0 tests ran, and expected.json promises 1",
      "qemu: 0 tests ran, and expected.json promises 1",
    ]);
  });

  it("names who needed a second try, and fails a run with too many of them", () => {
    const unsteady = (count: number) =>
      tally(
        Array.from({ length: count }, (_, at) => ({ ...test("passed"), secondTry: `test ${at}: too late` })),
      );
    expect(summary(unsteady(1))).toEqual([
      "passed only at the second try: test 0: too late",
      "1 passed, 0 failed, 0 skipped",
    ]);
    expect(unsteadiness(unsteady(4))).toEqual([]);
    expect(unsteadiness(unsteady(5))).toEqual(["5 tests passed only at their second try, and 4 may"]);
  });
});
