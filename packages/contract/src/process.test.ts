import { describe, expect, it } from "vitest";
import { collect, type Process, type ProcessEvent } from "./process.ts";

function processOf(...events: ProcessEvent[]): Process {
  return {
    id: "p1",
    events: (async function* () {
      yield* events;
    })(),
    writeStdin: async () => {},
    closeStdin: async () => {},
    signal: async () => {},
    detach: () => {},
  };
}
const chunk = (text: string, offset: number): ProcessEvent => ({
  type: "stdout",
  offset,
  data: Buffer.from(text),
});
const exit: ProcessEvent = { type: "exit", exit: { kind: "exited", code: 0 } };

describe("collect", () => {
  it("joins the parts", async () => {
    const result = await collect(processOf(chunk("ab", 0), chunk("cd", 2), exit));
    expect(Buffer.from(result.stdout).toString()).toBe("abcd");
    expect(result.truncated).toBe(false);
  });

  it("keeps no more than the limit, and says so", async () => {
    const result = await collect(processOf(chunk("abc", 0), chunk("def", 3), exit), 4);
    expect([Buffer.from(result.stdout).toString(), result.truncated]).toEqual(["abcd", true]);
  });

  it("does not invent an exit", async () => {
    await expect(collect(processOf(chunk("a", 0)))).rejects.toThrow("without an exit");
  });
});
