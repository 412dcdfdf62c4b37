import { describe, expect, it } from "vitest";
import { measure } from "./measure.ts";
import type { Opened, Subject } from "./subject.ts";

const log: string[] = [];
const subject = (name: string, more: Partial<Opened> = {}): Subject => ({
  name,
  version: async () => "1",
  open: async () => ({
    cycle: async () => {
      log.push(name);
      return { create: 1 };
    },
    close: async () => {},
    ...more,
  }),
});
const how = (rounds: number, warmUps: number, opened: Opened[] = []) => ({
  rounds,
  warmUps,
  signal: new AbortController().signal,
  placeOf: () => ({ rootfs: "", scratch: "" }),
  onOpen: (one: Opened) => opened.push(one),
  onRound: () => {},
});

describe("measure", () => {
  it("interleaves, starts each round with another, and does not count warm-ups", async () => {
    log.length = 0;
    const results = await measure([subject("a"), subject("b", { exec: async () => {} })], how(3, 1));
    expect(log.join("")).toBe("ba" + "ab" + "ba" + "ab");
    expect(results.map(({ measures }) => Object.keys(measures))).toEqual([
      ["cycle", "create"],
      ["cycle", "create", "exec"],
    ]);
    expect(results[0]?.measures.cycle?.samples).toBe(3);
  });

  it("names one that cannot be opened, with the reason, and measures the others", async () => {
    const absent: Subject = {
      ...subject("absent"),
      version: () => Promise.reject(new Error("not\ninstalled")),
    };
    const opened: Opened[] = [];
    const [first, second] = await measure([absent, subject("b")], how(2, 0, opened));
    expect(first).toEqual({ name: "absent", missing: "not installed", measures: {} });
    expect(second?.measures.cycle?.samples).toBe(2);
    expect(opened).toHaveLength(1);
  });

  it("drops the numbers of one that fails on the way", async () => {
    let turns = 0;
    const cycle = async () => {
      turns += 1;
      if (turns === 2) throw new Error("broke");
      return undefined;
    };
    const [result] = await measure([subject("a", { cycle })], how(5, 0));
    expect(result).toEqual({ name: "a", version: "1", missing: "broke", measures: {} });
    expect(turns).toBe(2);
  });

  it("starts nothing more once it is interrupted", async () => {
    const interrupt = new AbortController();
    log.length = 0;
    const cycle = async () => {
      interrupt.abort(new Error("enough"));
      return undefined;
    };
    const measuring = measure([subject("a", { cycle }), subject("b")], {
      ...how(5, 0),
      signal: interrupt.signal,
    });
    await expect(measuring).rejects.toThrow("enough");
    expect(log).toEqual([]);
  });
});
