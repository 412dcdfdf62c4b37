import type { Exit, Metrics } from "@sandboxer/contract";
import { expect, it, onTestFinished, vi } from "vitest";
import { sayWhy } from "./why.ts";

const sandboxWith = (oomKills: number) => ({ metrics: async () => ({ oomKills }) as Metrics });
const killed: Exit = { kind: "signalled", signal: "KILL" };

async function said(exit: Exit, sandbox: Parameters<typeof sayWhy>[0]): Promise<string> {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  await sayWhy(sandbox, exit);
  return write.mock.calls.map(([text]) => text).join("");
}

it.each([
  ["killed, when memory ran out", killed, 1, "ran out of memory"],
  ["a shell's word for it", { kind: "exited", code: 137 } as const, 2, "ran out of memory"],
  ["out of time", { kind: "timeout" } as const, 0, "--timeout was up"],
])("says why: %s", async (_, exit, kills, text) => {
  expect(await said(exit, sandboxWith(kills))).toContain(text);
});

it.each([
  ["killed, with memory left", killed, sandboxWith(0)],
  ["killed, and nobody can count", killed, { metrics: () => Promise.reject(new Error("no")) }],
  ["an end of its own, although another ran out", { kind: "exited", code: 1 } as const, sandboxWith(1)],
])("says nothing of it: %s", async (_, exit, sandbox) => {
  expect(await said(exit, sandbox)).toBe("");
});
