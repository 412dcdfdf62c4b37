import { networkRuleSchema } from "@sandboxer/contract";
import fc from "fast-check";
import { expect, it } from "vitest";
import { beyond, LISTS, meet } from "./covers.ts";

const label = fc.constantFrom("a", "b", "c");
const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
const port = fc.constantFrom("", ":80", ":443");
const rule = fc
  .tuple(fc.constantFrom("", "*.", "**."), host, port)
  .map(([stars, name, at]) => `${stars}${name}${at}`);
const rules = fc.oneof(
  { weight: 9, arbitrary: rule },
  { weight: 1, arbitrary: fc.constantFrom("**", "**:443") },
);

/** Said in another way than `covers` says it: whether a rule lets one connection through. */
function lets(one: string, name: string, at: number): boolean {
  const [pattern = "", port] = one.split(":");
  if (port !== undefined && Number(port) !== at) return false;
  const body = pattern.replace(/^\*+\.?/, "");
  const stars = pattern.length - pattern.replace(/^\*+/, "").length;
  const labels = "[a-z0-9-]+";
  const before = stars === 0 ? "" : stars === 1 ? `${labels}\\.` : `(?:${labels}\\.)+`;
  return new RegExp(pattern === "**" ? "" : `^${before}${body.replaceAll(".", "\\.")}$`).test(name);
}

it("AZ-2 a rule within another lets nothing through that the other does not", () => {
  fc.assert(
    fc.property(rules, rules, host, fc.constantFrom(80, 443), (wide, narrow, name, at) => {
      expect(networkRuleSchema.safeParse(wide).success).toBe(true);
      if (LISTS.network(wide, narrow) && lets(narrow, name, at)) expect(lets(wide, name, at)).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});

it("AZ-2 what two lists have in common is within both, and whatever is within both is in it", () => {
  const lists = fc.option(fc.array(rules, { maxLength: 4 }), { nil: undefined });
  fc.assert(
    fc.property(lists, lists, rules, (one, two, probe) => {
      const both = meet(LISTS.network, one, two);
      if (both) for (const list of [one, two]) expect(beyond(LISTS.network, list, both)).toEqual([]);
      const within = (list: string[] | undefined) => beyond(LISTS.network, list, [probe]).length === 0;
      const exact = one?.includes(probe) || two?.includes(probe);
      if (exact && within(one) && within(two)) expect(within(both)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

it("takes no rule that is none", () => {
  for (const wrong of [
    "",
    "*",
    "*.*.a",
    "a.*",
    "A.test",
    "a..b",
    "-a",
    "a:0",
    "a:x",
    "http://a",
    "a/b",
    "*a.test",
  ]) {
    expect([wrong, networkRuleSchema.safeParse(wrong).success]).toEqual([wrong, false]);
  }
});
