import fc from "fast-check";
import { expect, it } from "vitest";
import { canonicalJson } from "./chain.ts";

it("writes one text for one value, whatever the order of its keys and however it was stored", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const turned = Object.fromEntries(Object.entries(value).reverse());
      expect(canonicalJson(turned)).toBe(canonicalJson(value));
      expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it("treats an absent member as one that is not there", () => {
  expect(canonicalJson({ b: undefined, a: [1, undefined] })).toBe('{"a":[1,null]}');
});
