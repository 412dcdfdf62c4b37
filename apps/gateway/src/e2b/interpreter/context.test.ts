import type { Principal, Process } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { expect, it } from "vitest";
import { createContext } from "./context.ts";
import { languageOf } from "./languages.ts";

const END = Buffer.from(`${JSON.stringify({ type: "end_of_execution" })}\n`);

it("does not begin a cell whose client left while its runner started, and keeps the runner", async () => {
  const written: string[] = [];
  const starts: (() => void)[] = [];
  async function* events() {
    for (;;) yield { type: "stdout", data: END } as const;
  }
  const process = {
    writeStdin: async (data: Uint8Array) => void written.push(Buffer.from(data).toString()),
    events: events(),
  } as unknown as Process;
  // A runner that starts when the test says so, which no real one does.
  const exec = () => new Promise<Process>((resolve) => starts.push(() => resolve(process)));
  const facts = { id: "one", cwd: "/", mayRun: false };
  const context = createContext({ exec } as unknown as Core, "sandbox", languageOf("python"), facts);
  const run = (code: string, signal: AbortSignal) =>
    context.run({} as Principal, { code, env: {} }, signal).next();

  const left = new AbortController();
  const first = run("left", left.signal);
  await expect.poll(() => starts.length).toBe(1);
  left.abort();
  starts[0]?.();
  await expect(first).rejects.toThrow("aborted");
  expect(await run("stays", new AbortController().signal)).toMatchObject({
    value: { type: "end_of_execution" },
  });
  expect(written.map((one) => JSON.parse(one).code)).toEqual(["stays"]);
  expect(starts).toHaveLength(1);
});
