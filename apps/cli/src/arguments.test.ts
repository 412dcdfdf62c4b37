import { describe, expect, it } from "vitest";
import { durationMs, label, mebibytes, portNumber, variable } from "./arguments.ts";

describe("a time", () => {
  it.each([
    ["500ms", 500],
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["2d", 172_800_000],
    ["10", 10_000],
    ["0.25", 250],
  ])("reads %s", (text, ms) => expect(durationMs(text)).toBe(ms));

  it.each([
    "",
    "0",
    "0s",
    "-5s",
    "5x",
    "s",
    "1 h",
    "1h 30m",
    "h1",
    "1e3",
    "Infinity",
    "9999999999999d",
    "1..5s",
  ])("refuses %j", (text) => expect(() => durationMs(text)).toThrow("Give a time"));
});

it.each([
  ["512", 512],
  ["512M", 512],
  ["512m", 512],
  ["2G", 2_048],
  ["2g", 2_048],
  ["2GiB", 2_048],
  ["64MB", 64],
])("a size of %s is %i MiB", (text, size) => expect(mebibytes(text)).toBe(size));
it.each(["", "M", "12K", "-1G", "1.5"])("%j is no size", (text) => expect(() => mebibytes(text)).toThrow());

describe("a variable", () => {
  it("keeps everything after the first =", () => {
    expect(variable("A=b=c", { Z: "1" })).toEqual({ Z: "1", A: "b=c" });
    expect(variable("EMPTY=")).toEqual({ EMPTY: "" });
  });

  it("takes this shell's value for a name alone", () => {
    process.env.SANDBOXER_TEST_VARIABLE = "here";
    expect(variable("SANDBOXER_TEST_VARIABLE")).toEqual({ SANDBOXER_TEST_VARIABLE: "here" });
    delete process.env.SANDBOXER_TEST_VARIABLE;
    expect(() => variable("SANDBOXER_TEST_VARIABLE")).toThrow("is not set");
  });

  it("refuses one without a name", () => expect(() => variable("=x")).toThrow("NAME=value"));
});

it("reads labels", () => {
  expect(label("team=a=b", { x: "y" })).toEqual({ x: "y", team: "a=b" });
  expect(() => label("team")).toThrow("key=value");
});

it("reads ports", () => {
  expect([portNumber("0"), portNumber("65535")]).toEqual([0, 65_535]);
  for (const text of ["65536", "-1", "http", "", "1.5"]) expect(() => portNumber(text)).toThrow("A port");
});
