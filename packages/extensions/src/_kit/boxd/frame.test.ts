import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameDecoder } from "./decode.ts";
import { encodeDataHeader, encodeFrame, type Frame, ProtocolError } from "./frame.ts";

interface Vector {
  name: string;
  hex: string;
  frame: Record<string, unknown> & { dataHex?: string };
}
const vectors = JSON.parse(
  readFileSync(new URL("../../../../boxd/vectors.json", import.meta.url), "utf8"),
) as { frames: Vector[]; malformed: { name: string; hex: string }[] };

function frameOf({ dataHex, ...rest }: Vector["frame"]): Frame {
  return (dataHex === undefined ? rest : { ...rest, data: Buffer.from(dataHex, "hex") }) as Frame;
}
const decodeAll = (hex: string): Frame[] => [...new FrameDecoder().push(Buffer.from(hex, "hex"))];

describe("the shared vectors", () => {
  it.for(vectors.frames)("encodes and decodes: $name", ({ hex, frame }) => {
    expect(encodeFrame(frameOf(frame)).toString("hex")).toBe(hex);
    expect(decodeAll(hex)).toEqual([frameOf(frame)]);
  });

  it.for(vectors.malformed)("refuses: $name", ({ hex }) => {
    expect(() => decodeAll(hex)).toThrow(ProtocolError);
  });

  it("decodes the same frames wherever the bytes are cut", () => {
    const whole = Buffer.concat(vectors.frames.map(({ hex }) => Buffer.from(hex, "hex")));
    const expected = vectors.frames.map(({ frame }) => frameOf(frame));
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 20 }), (cuts) => {
        const decoder = new FrameDecoder();
        const frames: Frame[] = [];
        let from = 0;
        for (const to of [...cuts.sort((a, b) => a - b), whole.length]) {
          frames.push(...decoder.push(whole.subarray(from, to)));
          from = to;
        }
        expect(frames).toEqual(expected);
      }),
    );
  });

  it("passes a long DATA frame on in parts, wherever the bytes are cut, and then what follows", () => {
    const data = Buffer.from(Array.from({ length: 60_000 }, (_, index) => index % 251));
    const long = { kind: "DATA", stream: 7, channel: 1, data } as const;
    const after = { kind: "EOF", stream: 7, channel: 1 } as const;
    expect(encodeDataHeader(7, 1, data.length)).toEqual(encodeFrame(long).subarray(0, 10));
    const whole = Buffer.concat([encodeFrame(long), encodeFrame(after)]);
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 20 }), (cuts) => {
        const decoder = new FrameDecoder();
        const frames: Frame[] = [];
        let from = 0;
        for (const to of [...cuts.sort((a, b) => a - b), whole.length]) {
          frames.push(...decoder.push(whole.subarray(from, to)));
          from = to;
        }
        const parts = frames.slice(0, -1).map((frame) => {
          expect(frame).toMatchObject({ kind: "DATA", stream: 7, channel: 1 });
          return "data" in frame ? frame.data : new Uint8Array();
        });
        expect(Buffer.concat(parts).equals(data)).toBe(true);
        expect(frames.at(-1)).toEqual(after);
      }),
    );
  });

  it.for([
    ["of a stream that is none", encodeDataHeader(0, 1, 60_000)],
    ["beyond what a frame may hold", encodeDataHeader(7, 1, 65_537)],
    ["on a channel that is none", encodeDataHeader(7, 9 as 0, 60_000)],
  ] as const)("refuses DATA %s before it is whole", ([, header]) => {
    const begun = Buffer.concat([header, Buffer.alloc(5_000)]);
    expect(() => [...new FrameDecoder().push(begun)]).toThrow(ProtocolError);
  });

  it("meets any bytes with frames or a protocol error, never anything else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        try {
          for (const _ of new FrameDecoder().push(noise));
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
    );
  });
});
