import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { repeatedName } from "./repeated.ts";
import { parseStrictly } from "./strict.ts";

const parsed = (text: string) => parseStrictly(new TextEncoder().encode(text));

describe("AZ-9 JSON from outside", () => {
  it("is taken as it is, whatever it says", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(4), (value, indent) => {
        fc.pre(!JSON.stringify(value).includes("__proto__") && JSON.stringify(value).isWellFormed());
        const text = JSON.stringify(value, undefined, indent);
        fc.pre(!/\\ud[89a-f]/i.test(text));
        expect(parsed(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("is refused where an object names a member twice, in whatever spelling, at whatever depth", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), fc.array(fc.boolean()), (name, value, depth) => {
        const spelled = [...name].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
        fc.pre(spelled.join("").length === name.length * 6);
        const member = JSON.stringify(value);
        const twice = `{${JSON.stringify(name)}:${member},"other ${name.length}":[{}],"${spelled.join("")}":1}`;
        const within = (text: string) =>
          depth.reduce((inner, isList) => (isList ? `[0,${inner}]` : `{"a":${inner},"b":"a"}`), text);
        fc.pre(JSON.stringify(`other ${name.length}`) !== JSON.stringify(name));
        expect(repeatedName(within(twice))).toBe(name);
      }),
    );
    expect(() => parsed('{"a":1,"b":{"a":2,"\\u0061":3}}')).toThrow(/"a" is said twice/);
  });

  it("is no name twice where only values, lists or siblings repeat", () => {
    for (const text of [
      '{"a":"a","b":"a"}',
      '[{"a":1},{"a":2}]',
      '{"a":{"a":{"a":["a","a"]}},"b":{"a":1}}',
      '{"a":"\\",\\"a\\":","b":"{\\"a\\":1,\\"a\\":2}"}',
      '["a","a"]',
      '{"a\\\\":1,"a":2}',
      '"a"',
      "7",
    ]) {
      expect(repeatedName(text), text).toBeUndefined();
      expect(parsed(text)).toEqual(JSON.parse(text));
    }
  });

  it.each([
    ["half a character", '{"a":"\\ud800"}', /not Unicode text/],
    ["half a character in a name", '{"\\udfff":1}', /not Unicode text/],
    ["a prototype", '{"a":[{"__proto__":{"admin":true}}]}', /__proto__/],
    ["a prototype, spelled", '{"\\u005f_proto__":{}}', /__proto__/],
    ["65 lists in each other", "[".repeat(66) + "]".repeat(66), /nested deeper/],
    ["a million lists in each other", "[".repeat(1e6) + "]".repeat(1e6), /nested deeper|not JSON/],
    ["half of itself", '{"a":', /not JSON/],
    ["a mark before it", "\ufeff\ufeff{}", /not JSON/],
    ["two of it", "{}{}", /not JSON/],
    ["no number", "NaN", /not JSON/],
    ["a raw NUL", '"\0"', /not JSON/],
  ])("is refused with %s", (_, text, why) => {
    expect(() => parsed(text)).toThrow(why);
  });

  it("is refused in bytes that are no UTF-8", () => {
    for (const bytes of [
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xff, 0xfe],
    ]) {
      expect(() => parseStrictly(Uint8Array.from(bytes))).toThrow(/not JSON/);
    }
  });
});
