import { expect, it } from "vitest";
import { Turns } from "./turns.ts";

/** Turns whose next one comes when it is said. */
function turns() {
  const done: string[] = [];
  const planned: (() => void)[] = [];
  const all = new Turns((next) => void planned.push(next));
  return {
    done,
    planned,
    take: (sandbox: string, what: string) => all.take(sandbox, () => void done.push(`${sandbox}${what}`)),
    next: () => planned.shift()?.(),
  };
}

it("EG-21 who comes after another's crowd waits for one of it, not for all", () => {
  const { done, planned, take, next } = turns();
  for (const what of ["1", "2", "3", "4"]) take("a", what);
  expect(done).toEqual(["a1"]);
  take("b", "1");
  expect(done, "at once").toEqual(["a1", "b1"]);
  take("b", "2");
  next();
  expect(done.slice(2)).toEqual(["a2", "b2"]);
  while (planned.length > 0) next();
  expect(done.slice(4)).toEqual(["a3", "a4"]);
});

it("keeps the order of each, and nothing once all is done", () => {
  const { done, planned, take, next } = turns();
  for (let at = 0; at < 50; at += 1) take("a", `${at}`);
  while (planned.length > 0) next();
  expect(done).toEqual(Array.from({ length: 50 }, (_, at) => `a${at}`));
  take("a", " later");
  expect(done.at(-1), "its turn is over, so it is served at once").toBe("a later");
  next();
  expect(planned).toEqual([]);
});

it("goes on when something given to do gives more to do", () => {
  const { done, planned, next } = turns();
  const all = new Turns((later) => void planned.push(later));
  all.take("a", () => all.take("a", () => void done.push("more")));
  expect(done).toEqual([]);
  next();
  expect(done).toEqual(["more"]);
});
