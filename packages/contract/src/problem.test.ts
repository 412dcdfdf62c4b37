import { expect, it } from "vitest";
import { z } from "zod";
import { problemOf } from "./problem.ts";
import { createBodySchema } from "./wire.ts";

const said = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues.map(problemOf);

it.each<[z.ZodType, unknown, string]>([
  [z.object({ a: z.string() }), {}, "a: is missing"],
  [z.object({ a: z.string() }), { a: 1 }, "a: must be text"],
  [z.object({ a: z.int() }), { a: 1.5 }, "a: must be a whole number"],
  [z.array(z.boolean()), [1], "0: must be true or false"],
  [z.strictObject({}), { odd: 1 }, '"odd" is not known here'],
  [z.strictObject({}), { odd: 1, even: 2 }, '"odd", "even" are not known here'],
  [z.number().max(4), 5, "must be at most 4"],
  [z.number().positive(), 0, "must be more than 0"],
  [z.string().min(1), "", "must have at least 1 characters"],
  [z.array(z.int()).max(1), [1, 2], "must have at most 1 entries"],
  [z.enum(["a", "b"]), "c", "must be one of a, b"],
  [z.literal("a"), "c", "must be a"],
  [z.url(), "x", "is not a valid url"],
  [z.string().regex(/a/), "x", "is not written as it should be"],
  [z.union([z.int(), z.boolean()]), "x", "is in none of the forms that are taken"],
  [z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") })]), { kind: "b" }, "kind"],
  [z.string().regex(/a/, "an a"), "x", "an a"],
])("puts what the library says into our words: %#", (schema, value, text) => {
  expect(said(schema, value)?.join()).toContain(text);
});

it("names a field once, and leaves no word of the library in what a create is refused for", () => {
  expect(said(createBodySchema, { resources: { memoryMiB: 1 } })).toEqual([
    "resources.memoryMiB: at least 16",
  ]);
  const wrong = {
    ttlMs: "x",
    name: 1,
    image: { kind: "odd" },
    env: [],
    network: { egress: "open" },
    labels: 3,
    odd: 1,
  };
  for (const problem of said(createBodySchema, wrong) ?? []) {
    expect(problem).not.toMatch(/Invalid|Unrecognized|Too (?:big|small)|expected|received/);
  }
});
