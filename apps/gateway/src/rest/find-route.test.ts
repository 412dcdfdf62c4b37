import { expect, it } from "vitest";
import { createFindRoute } from "./find-route.ts";
import type { Route } from "./route.ts";
import { ROUTES } from "./table.ts";

const route = (method: string, path: string) => ({ method, path }) as Route;

it("finds every route of the table by its own path", () => {
  const find = createFindRoute(ROUTES);
  for (const one of ROUTES) {
    const found = find(one.method, one.path.replace(/\{(\w+)\}/g, "x-$1"));
    expect(found?.route).toBe(one);
    const names = [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(found?.params).toEqual(Object.fromEntries(names.map((name) => [name, `x-${name}`])));
  }
});

it("takes a word before a parameter, and goes back where the word leads nowhere", () => {
  const find = createFindRoute([
    route("GET", "/a/{id}"),
    route("GET", "/a/new"),
    route("POST", "/a/{id}/end"),
  ]);
  expect(find("GET", "/a/new")?.route.path).toBe("/a/new");
  expect(find("POST", "/a/new/end")).toMatchObject({ params: { id: "new" } });
  expect(find("GET", "/a/%2e%2E%2f")).toMatchObject({ params: { id: "../" } });
  expect(find("GET", "/a/%zz")).toMatchObject({ params: { id: "%zz" } });
});

it("finds nothing for what is nearly a route", () => {
  const find = createFindRoute([route("GET", "/a/{id}")]);
  for (const path of ["/a", "/a/", "/a/b/", "/a/b/c", "//a/b", "/A/b", ""])
    expect(find("GET", path)).toBe(undefined);
  expect(find("POST", "/a/b")).toBe(undefined);
});
