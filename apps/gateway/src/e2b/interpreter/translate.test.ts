import { expect, it } from "vitest";
import { telling, WRITTEN } from "./translate.ts";

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
