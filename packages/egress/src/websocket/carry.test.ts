import { expect, it } from "vitest";
import { replaceIn } from "../secrets/scan.ts";
import { carry } from "./carry.ts";
import { BadFrame, Frames, frameOf, isControl } from "./frames.ts";

const SECRET = Buffer.from("secret-value");

async function* cut(bytes: Buffer, ...at: number[]): AsyncGenerator<Buffer> {
  let from = 0;
  for (const end of [...at, bytes.length]) {
    if (end > from) yield Buffer.from(bytes.subarray(from, end));
    from = end;
  }
}

/** What arrives: messages as a whole, and what was said between them. */
async function through(isMasked: boolean, bytes: Buffer, ...at: number[]): Promise<string[]> {
  const written: Buffer[] = [];
  await carry({
    source: cut(bytes, ...at),
    isMasked,
    change: (message) => replaceIn(message, [{ bytes: SECRET, means: "" }], () => Buffer.from("#")),
    async write(frame) {
      written.push(frame);
      return true;
    },
  });
  const frames = new Frames(cut(Buffer.concat(written)), isMasked);
  const heard: string[] = [];
  let held = "";
  for (let head = await frames.head(); head; head = await frames.head()) {
    const payload = (await frames.whole(head)).toString();
    if (isControl(head)) heard.push(`${head.opcode}: ${payload}`);
    else held += payload;
    if (isControl(head) || !head.isLast) continue;
    heard.push(held);
    held = "";
  }
  return heard;
}

it.each([true, false])(
  "EG-16 reads messages at every cut, in whatever pieces they come (masked: %s)",
  async (isMasked) => {
    const say = (opcode: number, isLast: boolean, text: string) =>
      frameOf(opcode, isLast, Buffer.from(text), isMasked);
    const long = "x".repeat(200);
    const bytes = Buffer.concat([
      say(1, true, `a ${SECRET} b`),
      say(1, false, "one sec"),
      say(9, true, "ping"),
      say(0, false, "ret-"),
      say(0, true, "value two"),
      say(2, true, long),
      say(9, true, `${SECRET}`),
      say(2, true, ""),
      say(8, true, "bye"),
      say(1, true, "after the end nothing is said"),
    ]);
    const heard = ["a # b", "9: ping", "one # two", long, "9: #", "", "8: bye"];
    for (let at = 0; at <= bytes.length; at++)
      expect(await through(isMasked, bytes, at), `cut at ${at}`).toEqual(heard);
    const each = Array.from({ length: bytes.length }, (_, at) => at);
    expect(await through(isMasked, bytes, ...each)).toEqual(heard);
  },
);

it("EG-16 keeps a message that is long in as many frames as it takes, and one that is short in one", async () => {
  const frames: Buffer[] = [];
  const source = cut(frameOf(1, true, Buffer.alloc(100_000, 120), false), 60_000);
  const write = async (frame: Buffer) => frames.push(frame) > 0;
  await carry({ source, isMasked: false, change: (message) => message, write });
  expect(frames.map(([first]) => first)).toEqual([0x01, 0x80]);
  frames.length = 0;
  const short = cut(frameOf(1, true, Buffer.from("hello"), false), 4);
  await carry({
    source: short,
    isMasked: false,
    change: (message) => replaceIn(message, [], () => SECRET),
    write,
  });
  expect(Buffer.concat(frames).length).toBeLessThanOrEqual(9);
});

const BROKEN: Record<string, number[]> = {
  "half a head": [0x81],
  "half a frame": [0x81, 5, 97],
  "half a message": [0x01, 1, 97],
  "a length of two bytes where one is enough": [0x81, 126, 0, 5, 97, 97, 97, 97, 97],
  "a length beyond all": [0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255],
  "a mask": [0x81, 0x81, 0, 0, 0, 0, 97],
  "an extension": [0xa1, 1, 97],
  "an unknown kind": [0x8b, 1, 97],
};
it.each(Object.entries(BROKEN))("EG-16 refuses %s", async (_, bytes) => {
  await expect(through(false, Buffer.from(bytes))).rejects.toThrow(BadFrame);
});
