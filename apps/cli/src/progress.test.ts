import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import { counted } from "./progress.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** What is written to standard error while `source` passes. */
async function heard(isTTY: boolean, source: (said: string[]) => AsyncIterable<Uint8Array>) {
  const said: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
  const before = process.stderr.isTTY;
  Object.assign(process.stderr, { isTTY });
  let bytes = 0;
  try {
    for await (const part of counted(source(said))) bytes += part.length;
  } finally {
    Object.assign(process.stderr, { isTTY: before });
  }
  return { said, bytes };
}

it("says how much has gone by, when that takes a while, and wipes it away at the end", async () => {
  let sent = 0;
  const { said, bytes } = await heard(true, async function* (said) {
    for (; said.length < 2; sent += 1024) {
      yield new Uint8Array(1024);
      await turn();
    }
  });
  expect(bytes).toBe(sent);
  const amounts = said.flatMap((text) => /^\r(\d+\.\d) MiB$/.exec(text)?.[1] ?? []).map(Number);
  expect(amounts).toHaveLength(2);
  expect(amounts[1]).toBeGreaterThanOrEqual(amounts[0] as number);
  expect(said.at(-1)).toBe("\r\x1b[K");
});

it("says nothing where nobody looks, however long it takes", async () => {
  const startedAt = performance.now();
  const long = async function* () {
    while (performance.now() - startedAt < 1_300) {
      yield new Uint8Array(1);
      await turn();
    }
  };
  expect((await heard(false, long)).said).toEqual([]);
});
