import { spawn } from "node:child_process";
import { afterEach, expect, it } from "vitest";
import { languageOf } from "./languages.ts";
import type { Line } from "./translate.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A runner as a sandbox starts it: what it says of each line that it is told. */
function start(): (told: string | readonly Uint8Array[]) => Promise<Line[]> {
  const { argv, hear, mark } = languageOf("js").start();
  const [program = "", ...given] = [...argv, JSON.stringify({ mark })];
  const child = spawn(program, given);
  ends.push(() => child.kill("SIGKILL"));
  let came: Line[] = [];
  let over = (_: Line[]) => {};
  for (const channel of ["stdout", "stderr"] as const) {
    child[channel].on("data", (data) => {
      came.push(...hear(channel, data));
      if (came.at(-1)?.type === "end_of_execution") over(came);
    });
  }
  return async (told) => {
    came = [];
    const heard = new Promise<Line[]>((resolve, reject) => {
      over = resolve;
      child.once("exit", () => reject(new Error("the runner has ended")));
    });
    for (const part of typeof told === "string" ? [told] : told) {
      await new Promise((resolve) => child.stdin.write(part, resolve));
    }
    return heard;
  };
}

const asked = (code: string) => `${JSON.stringify({ code, env: {} })}\n`;
const resultOf = (lines: readonly Line[]) => lines.find(({ type }) => type === "result")?.text;
const errorOf = (lines: readonly Line[]) => lines.find(({ type }) => type === "error");

it("ends what it is told at a line's end alone, in whichever parts it comes", async () => {
  const run = start();
  expect(resultOf(await run(asked("'a\u2028b\u2029\u0085c'")))).toBe("a\u2028b\u2029\u0085c");
  const bytes = [...Buffer.from(asked("'ä€😀'"))].map((byte) => Uint8Array.of(byte));
  expect(resultOf(await run(bytes))).toBe("ä€😀");
  expect(languageOf("js").start().say("\u2028\u2029", {})).toBe('{"code":"\\u2028\\u2029","env":{}}\n');
});

it("says that a cell cannot begin, instead of nothing for ever", async () => {
  const run = start();
  expect(errorOf(await run("no cell\n"))).toMatchObject({ name: "SyntaxError" });
  await run(asked("var map = Array.prototype.map; Array.prototype.map = undefined"));
  expect(errorOf(await run(asked("1")))).toMatchObject({ name: "TypeError" });
  expect(errorOf(await run(asked("1")))).toMatchObject({ name: "TypeError" });
});

it("tells the beginning of a failure that is longer than a line may be", async () => {
  const run = start();
  const long = "'x'.repeat(100_000_000)";
  for (const thrown of [`new Error(${long})`, long, `{ name: ${long}, message: 'x', stack: ${long} }`]) {
    const error = errorOf(await run(asked(`throw ${thrown}`)));
    expect(error, thrown).toBeDefined();
    for (const member of ["name", "value", "traceback"]) {
      expect(String(error?.[member]).length, thrown).toBeLessThan(1_100_000);
    }
  }
  expect(errorOf(await run(asked("throw new Error('short')")))).toMatchObject({ value: "short" });
});

it("says that a result is too long to be told, shown or returned", async () => {
  const run = start();
  const long = "'x'.repeat(60 << 20)";
  const told = { name: "RangeError", value: "a result of 60 MiB is more than the 48 MiB that are told" };
  expect(errorOf(await run(asked(long)))).toMatchObject(told);
  expect(errorOf(await run(asked(`display(${long})`)))).toMatchObject(told);
  expect(resultOf(await run(asked("1 + 1")))).toBe("2");
});

it("carries output of any length whole, and cuts no letter", async () => {
  const run = start();
  const lines = await run(asked("console.log('x' + '😀'.repeat(20 << 20))"));
  const said = lines.filter(({ type }) => type === "stdout").map(({ text }) => String(text));
  expect(said.reduce((sum, { length }) => sum + length, 0)).toBe(2 + 2 * (20 << 20));
  expect(said.every((text) => text.isWellFormed())).toBe(true);
  expect(Math.max(...said.map(({ length }) => length))).toBeLessThanOrEqual(1 << 20);
});
