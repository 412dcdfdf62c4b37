import { expect, it, onTestFinished, vi } from "vitest";
import { frameOf, readFrames } from "./frame.ts";

const END_OF_STREAM = 2;

async function read(whole: Buffer, partBytes: number, maximumBytes = 16 << 20): Promise<unknown[]> {
  async function* parts() {
    for (let at = 0; at < whole.length; at += partBytes) yield whole.subarray(at, at + partBytes);
  }
  const messages: unknown[] = [];
  for await (const message of readFrames(parts(), maximumBytes)) messages.push(message);
  return messages;
}

it("reads messages in whichever parts they come", async () => {
  const messages = [{ start: 1 }, {}, { data: "ö" }];
  const whole = Buffer.concat([...messages.map((one) => frameOf(0, one)), frameOf(END_OF_STREAM, {})]);
  for (const partBytes of [1, 4, 5, 6, 7, whole.length]) {
    expect(await read(whole, partBytes), String(partBytes)).toEqual(messages);
  }
  await expect(read(whole.subarray(0, -1), 7)).rejects.toThrow("cut off");
  await expect(read(whole, 7, 10)).rejects.toThrow("at most 10 bytes");
});

it("puts a message together once, however small its parts are", async () => {
  const long = "x".repeat(15 << 20);
  // Put together anew with each part, this is 120 GiB.
  const whole = frameOf(0, { long });
  const joining = vi.spyOn(Buffer, "concat");
  onTestFinished(() => joining.mockRestore());
  const [message] = await read(whole, 1 << 10);
  expect(message).toEqual({ long });
  const joined = joining.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
  expect(joined).toBeLessThan(3 * whole.length);
});
