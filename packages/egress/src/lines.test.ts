import { once } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { readLines, sayTogether } from "./lines.ts";

/** Turns that come when the test says so. */
function turns() {
  const waiting: (() => void)[] = [];
  return {
    later: (turn: () => void) => void waiting.push(turn),
    come: () => waiting.splice(0).forEach((turn) => void turn()),
  };
}

describe("lines that are said together", () => {
  it("are one piece for each turn, in the order in which they were said", () => {
    const pieces: string[] = [];
    const to = new Writable({
      write(piece, _encoding, done) {
        pieces.push(String(piece));
        done();
      },
    });
    const { later, come } = turns();
    const { say } = sayTogether(to, later);
    say({ a: 1 });
    say({ b: "\n" });
    expect(pieces).toEqual([]);
    come();
    say({ c: 3 });
    come();
    come();
    expect(pieces).toEqual(['{"a":1}\n{"b":"\\n"}\n', '{"c":3}\n']);
  });

  it("are said at once where there will be no other turn, and not again", async () => {
    const to = new PassThrough();
    const heard: object[] = [];
    readLines(to, (message) => heard.push(message));
    const { later, come } = turns();
    const { say, flush } = sayTogether(to, later);
    say({ a: 1 });
    flush();
    come();
    to.end();
    await once(to, "end");
    expect(heard).toEqual([{ a: 1 }]);
  });

  it("are nobody's trouble where nobody hears them any more", () => {
    const to = new PassThrough();
    const { say, flush } = sayTogether(to, () => {});
    to.end();
    say({ a: 1 });
    expect(flush).not.toThrow();
  });
});
