import { describe, expect, it } from "vitest";
import { SandboxerError } from "./errors.ts";
import { assertMove, canMove, isOver, SANDBOX_STATES } from "./lifecycle.ts";

describe("the lifecycle", () => {
  it("reaches every state from `requested`", () => {
    const reached = new Set(["requested"]);
    for (let grown = true; grown; ) {
      grown = false;
      for (const from of SANDBOX_STATES.filter((state) => reached.has(state))) {
        for (const to of SANDBOX_STATES.filter((state) => canMove(from, state) && !reached.has(state))) {
          reached.add(to);
          grown = true;
        }
      }
    }
    expect([...reached].sort()).toEqual([...SANDBOX_STATES].sort());
  });

  it("leads every state to an end", () => {
    for (const state of SANDBOX_STATES.filter((one) => !isOver(one))) {
      expect(SANDBOX_STATES.some((to) => canMove(state, to))).toBe(true);
    }
    expect(SANDBOX_STATES.filter(isOver)).toEqual(["destroyed", "failed", "expired", "lost"]);
  });

  it("names both ends of a move it refuses", () => {
    expect(() => assertMove("running", "paused")).not.toThrow();
    try {
      assertMove("destroyed", "running");
      expect.unreachable();
    } catch (error) {
      expect(SandboxerError.is(error) && error.details).toEqual({ from: "destroyed", to: "running" });
    }
  });
});
