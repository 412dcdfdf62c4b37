import { expect, it } from "vitest";
import { type Line, marked, telling, WRITTEN } from "./translate.ts";

const END = { type: "end_of_execution" };

it("tells the end of a cell behind what its children have said, in whichever order they come", () => {
  const said = { type: "stdout", text: "below\n", timestamp: expect.any(String) };
  const end = Buffer.from(`${JSON.stringify({ ...END, of: 1 })}\n`);
  const before = telling("mark");
  expect(before("stdout", end)).toEqual([]);
  expect(before("stderr", Buffer.from("below\nma"))).toEqual([said]);
  expect(before("stderr", Buffer.from("rk 1\n"))).toEqual([END]);
  const behind = telling("mark");
  expect(behind("stderr", Buffer.from("below\nmark 1\nnext"))).toEqual([said, { ...said, text: "next" }]);
  expect(behind("stdout", end)).toEqual([END]);
  // One that began to listen in the middle has missed a mark, and does not wait for it for ever.
  expect(behind("stdout", Buffer.from(`${JSON.stringify({ ...END, of: 2 })}\n`))).toEqual([]);
  expect(behind("stderr", Buffer.from("mark 3\n"))).toEqual([END]);
  expect(behind("stdout", Buffer.from(`${JSON.stringify({ ...END, of: 3 })}\n`))).toEqual([END]);
});

it("puts a line together that comes in parts", () => {
  const hear = telling();
  const line = Buffer.from(`${JSON.stringify({ type: "result", text: "ö".repeat(10) })}\n`);
  for (const byte of line.subarray(0, -1)) expect(hear("stdout", Buffer.from([byte]))).toEqual([]);
  const [heard] = hear("stdout", line.subarray(-1));
  expect(heard).toMatchObject({ type: "result", text: "ö".repeat(10), [WRITTEN]: String(line).trim() });
});

const text = (lines: readonly Line[]) => lines.map((line) => line.text ?? "").join("");
const MARK = "0b0e4f0e-mark";

it("hears every mark of one part, on each stream", () => {
  const beside = telling(MARK);
  const ends = [1, 2].map((of) => JSON.stringify({ ...END, of }));
  expect(beside("stderr", Buffer.from(`a${MARK} 1\nb${MARK} 2\nc`)).map((line) => line.text)).toEqual([
    ..."abc",
  ]);
  expect(beside("stdout", Buffer.from(`${ends[0]}\n${ends[1]}\n`))).toEqual([END, END]);
  const hear = marked(MARK);
  expect(hear("stderr", Buffer.from(`${MARK} 1\n`))).toEqual([]);
  const both = hear("stdout", Buffer.from(`a${MARK} count=1\nb${MARK} count=2\nc`));
  expect(both.map(({ type, text: said, execution_count: count }) => said ?? count ?? type)).toEqual([
    "a",
    1,
    END.type,
    "b",
    2,
    "c",
  ]);
  expect(hear("stderr", Buffer.from(`${MARK} 2\n`))).toEqual([END]);
});

it("ends a cell by no mark of another one's, on either stream", () => {
  const hear = marked(MARK);
  // Of a cell that was over when it began to listen.
  expect(hear("stderr", Buffer.from(`${MARK} 6\n`))).toEqual([]);
  expect(hear("stdout", Buffer.from(`${MARK} count=7\n`))).not.toContainEqual(END);
  expect(hear("stderr", Buffer.from(`said${MARK} 7\n`))).toMatchObject([{ text: "said" }, END]);
  const late = marked(MARK);
  expect(late("stdout", Buffer.from(`${MARK} count=6\n`))).not.toContainEqual(END);
  expect(late("stderr", Buffer.from(`${MARK} 7\n`))).toEqual([]);
  expect(late("stdout", Buffer.from(`said${MARK} count=7\n`)).at(-1)).toEqual(END);
});

it("takes the marks of a runner that numbers none on standard error, as gateways before this one start it", () => {
  const hear = marked(MARK);
  for (const count of [1, 2]) {
    expect(hear("stderr", Buffer.from(`${MARK}\n`))).toEqual([]);
    expect(hear("stdout", Buffer.from(`${MARK} count=${count}\n`)).at(-1)).toEqual(END);
  }
});

it("says that a line was too long to be told, and hears the next one", () => {
  const hear = telling();
  const part = Buffer.alloc(1 << 20, "x");
  for (let at = 0; at < 65; at += 1) expect(hear("stdout", part)).toEqual([]);
  const [error, ...rest] = hear("stdout", Buffer.from(`xxx\n${JSON.stringify(END)}\n`));
  expect(error).toMatchObject({
    type: "error",
    name: "LineTooLong",
    value: expect.stringContaining("64 MiB"),
  });
  expect(rest).toEqual([END]);
  expect(hear("stdout", Buffer.from(`${JSON.stringify(END)}\n`))).toEqual([END]);
});

it("takes a mark that a cell has written for text, and hears the runner's own behind it", () => {
  for (const forged of [
    `${MARK} a b\n`,
    `${MARK}${MARK.slice(0, 5)}`,
    `${MARK} x${MARK}`,
    `${MARK}: ${MARK}?\n`,
  ]) {
    const hear = marked(MARK);
    const all = [...Buffer.from(`${forged}${MARK} count=7\n`)].flatMap((byte) =>
      hear("stdout", Buffer.from([byte])),
    );
    expect(text(all), forged).toBe(forged);
    expect(all.at(-1), forged).toEqual({ type: "number_of_executions", execution_count: 7 });
  }
});

it("looks at endless output behind a mark once, not again with each part of it", () => {
  const hear = marked(MARK);
  const part = Buffer.alloc(64 << 10, "x");
  hear("stdout", Buffer.from(MARK));
  let length = 0;
  // Looked at anew with each part, this is 130 GiB of text.
  for (let at = 0; at < 2 * 1024; at += 1) length += text(hear("stdout", part)).length;
  length += text(hear("stdout", Buffer.from(`${MARK} count=1\n`))).length;
  expect(length).toBe(MARK.length + 2 * 1024 * part.length);
}, 60_000);
