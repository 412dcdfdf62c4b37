import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalHost, parseHostPattern } from "./host.ts";

describe("the one spelling of a host", () => {
  it.each([
    ["API.Example.com", "api.example.com"],
    ["api.example.com.", "api.example.com"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["10.1.2.3", "10.1.2.3"],
    ["::1", "::1"],
    ["0:0:0:0:0:ffff:7f00:1", "::ffff:7f00:1"],
    ["2001:DB8::0001", "2001:db8::1"],
  ])("%s is %s", (spelling, text) => {
    expect(canonicalHost(spelling)?.text).toBe(text);
  });

  it.each([
    ["127.1", "0x7f.1", "0177.0.0.1", "2130706433", "127.0.0.01", "1.2.3.4.5", "256.1.1.1", "0x7f000001"],
    ["a..b", ".a", "", ".", "..", "a b", "a\0b", "a\nb", "x@a.test", "a#b", "a\\@b", "a/b", "a%2eb"],
    ["api。example.com", "api.exam\u00adple.com", "аpi.example.com", "１２７.0.0.1", "*.a.test", "-a.test"],
    ["fe80::1%eth0", "[::1]", "::1]", "1:2", ":::", `${"a".repeat(64)}.test`, `${"a.".repeat(128)}test`],
  ])("EG-6 EG-8 what can be read in two ways is no host (%#)", (...spellings) => {
    const taken = spellings.filter((spelling) => canonicalHost(spelling));
    expect(taken).toEqual([]);
  });

  it("is its own spelling, whatever came in", () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6(), fc.string()), (spelling) => {
        const host = canonicalHost(spelling);
        if (host) expect(canonicalHost(host.text)).toEqual(host);
      }),
    );
  });
});

describe("which hosts a rule means", () => {
  it("knows exact ones, one label and any depth", () => {
    expect(parseHostPattern("Api.Test.")).toEqual({ depth: "exact", host: "api.test" });
    expect(parseHostPattern("*.a.test")).toEqual({ depth: "one", suffix: "a.test" });
    expect(parseHostPattern("**.a.test")).toEqual({ depth: "any", suffix: "a.test" });
  });

  it.each([
    "*",
    "**",
    "*.com",
    "**.dev",
    "*.co.uk",
    "a.*.test",
    "*a.test",
    "***.a.test",
    "*.",
    "*.*.a.test",
    "*.1.2.3.4",
  ])("EG-8 refuses %s", (pattern) => {
    expect(parseHostPattern(pattern)).toBeUndefined();
  });
});
