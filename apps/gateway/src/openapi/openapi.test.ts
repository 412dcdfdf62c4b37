import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { ROUTES } from "../rest/table.ts";
import { documentOf } from "./document.ts";
import { exampleOf } from "./example.ts";
import { referencePage } from "./reference.ts";

const document = documentOf(ROUTES);
const { schemas } = document.components;

async function lint(value: object): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const problems = await lintFromString({ source: JSON.stringify(value), config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}

describe("the OpenAPI document", () => {
  it("lints clean", { timeout: 60_000 }, async () => {
    expect(await lint(document)).toEqual([]);
  });

  it("control: the linter sees a fault", { timeout: 60_000 }, async () => {
    const [path = ""] = Object.keys(document.paths);
    expect(await lint({ ...document, paths: { [path]: { get: { responses: {} } } } })).not.toEqual([]);
  });

  it("has exactly the routes there are, and says what else leads in", () => {
    const written = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => ({
        name: `${method.toUpperCase()} ${path}`,
        way: (one as { "x-way"?: string })["x-way"],
      })),
    );
    const namesOf = (isWay: boolean) =>
      written.filter(({ way }) => (way !== undefined) === isWay).map(({ name }) => name);
    expect(namesOf(false).sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
    expect(namesOf(true)).toEqual(["GET /v1/sandboxes/{id}/exec", "GET /preview/{token}/{rest}"]);
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((one) => (one as { operationId: string }).operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s: its examples are what its schemas accept",
    (_, { method, path, params, query, body, answer }) => {
      const operation = document.paths[path]?.[method.toLowerCase()] as {
        parameters?: { name: string; in: string; example?: unknown }[];
        requestBody?: { content: Record<string, { example?: unknown }> };
      };
      const given = (place: string) =>
        Object.fromEntries(
          (operation.parameters ?? [])
            .filter((one) => one.in === place && one.example !== undefined)
            .map(({ name, example }) => [name, example]),
        );
      const accepts = (schema: z.ZodType, value: unknown) =>
        expect(schema.safeParse(value), JSON.stringify(value)).toMatchObject({ success: true });
      if (params) accepts(params, given("path"));
      if (query) accepts(query, given("query"));
      if (body && body !== "bytes")
        accepts(body, operation.requestBody?.content["application/json"]?.example);
      if ("schema" in answer && path !== "/v1/openapi.json") {
        const name =
          JSON.stringify(operation).match(/"(?:200|201)":.*?#\/components\/schemas\/(\w+)/)?.[1] ?? "";
        accepts(answer.schema, exampleOf(schemas[name] ?? {}, "", schemas));
      }
    },
  );
});

describe("AZ-10 the reference page", () => {
  it("shows every route, without a script or a foreign host", () => {
    const page = referencePage(document);
    for (const { path } of ROUTES) expect(page).toContain(path);
    expect(page).not.toMatch(/<script|<iframe|<form|src=|@import|url\(/i);
    expect(page.match(/href="(?!#|openapi\.json)/)).toBeNull();
  });

  it("escapes what it shows", () => {
    const hostile = "<img src=x onerror=alert(1)>\"'&";
    const page = referencePage({
      ...document,
      info: { ...document.info, title: hostile },
      components: { ...document.components, schemas: { [hostile]: { description: hostile } } },
    });
    expect(page).not.toContain("<img");
    expect(page).toContain("&#60;img");
  });
});
