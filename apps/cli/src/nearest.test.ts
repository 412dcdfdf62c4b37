import { expect, it } from "vitest";
import { nearest } from "./nearest.ts";

const known = ["build", "review", "3kx0q1w2e3r4t5y6u7i8"];

it.each([
  ["biuld", "build"],
  ["buil", "build"],
  ["Build", "build"],
  ["reveiw", "review"],
  ["3kx0", "3kx0q1w2e3r4t5y6u7i8"],
  ["3kx0q1w2e3r4t5y6u7i9", "3kx0q1w2e3r4t5y6u7i8"],
])("takes %s for %s", (typed, meant) => {
  expect(nearest(typed, known)).toBe(meant);
});

it.each(["", "x", "deploy", "3k"])("does not guess what %s could be", (typed) => {
  expect(nearest(typed, known)).toBeUndefined();
});

it("does not choose between two beginnings", () => {
  expect(nearest("abc", ["abcdefgh", "abcdefgi"])).toBeUndefined();
});
