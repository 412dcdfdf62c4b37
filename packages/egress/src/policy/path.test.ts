import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalTarget, compilePath, readingsOf } from "./path.ts";

describe("EG-12 the one spelling of a target", () => {
  it.each([
    ["/a/b?x=1", { path: "/a/b", query: "x=1" }],
    ["/a/./b/../c", { path: "/a/c", query: "" }],
    ["/a/%2e%2e/b", { path: "/b", query: "" }],
    ["/%61%3a%c3%a4", { path: "/a%3A%C3%A4", query: "" }],
    ["/../../etc", { path: "/etc", query: "" }],
    ["/a/..", { path: "/", query: "" }],
    ["/", { path: "/", query: "" }],
    ["/@scope%2fname", { path: "/@scope%2Fname", query: "" }],
    ["/a%2Fb/../c", { path: "/c", query: "" }],
  ])("%s", (target, canonical) => {
    expect(canonicalTarget(target)).toEqual(canonical);
  });

  it.each([
    ["//host/", "http://a/", "a", "", "/a\\b", "/a%5Cb", "/a%00", "/a%zz", "/a%", "/a#b", "/a b", "/a\tb"],
    ["/a\r\nb", "/ä", "/..;/admin", "/a/..;x/b", "/.%2e;/x", "/..//x"],
    ["/allowed/x%2F..;%2F..;%2Fsecret", "/a%2f.;x", "/a%2F%2e%2e;/b"],
    ["/a%2f..%2fb", "/a/..%2fb", "/a%2f%2e%2e/b", "/a%2f./b", "/%2fa", "/a/%2fb", "/a%2f/b", "/a%2f%2fb"],
  ])("what two servers could read differently is none (%#)", (...targets) => {
    expect(targets.filter((target) => canonicalTarget(target))).toEqual([]);
  });

  it("is its own spelling, and never climbs", () => {
    const piece = fc.constantFrom(
      "/",
      "a",
      ".",
      "..",
      "%2e",
      "%2E",
      "%2f",
      "%2F",
      ";",
      "%41",
      "%3b",
      "?",
      "=",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const target = canonicalTarget(`/${pieces.join("")}`);
        if (!target) return;
        expect(canonicalTarget(target.path + (target.query && `?${target.query}`))).toEqual(target);
        for (const reading of readingsOf(target.path)) expect(reading.split("/")).not.toContain("..");
      }),
      { numRuns: 2_000 },
    );
  });
});

it("EG-8 in a glob, dots and the rest mean themselves", () => {
  expect(compilePath("/a.b/*").test("/axb/c")).toBe(false);
  expect(compilePath("/a.b/*").test("/a.b/c")).toBe(true);
  expect(compilePath("/a+(b)/**").test("/a+(b)/c/d")).toBe(true);
  expect(compilePath("/a").test("/a\n")).toBe(false);
});
