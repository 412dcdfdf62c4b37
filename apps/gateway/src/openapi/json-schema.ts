import { z } from "zod";

/** JSON Schema 2020-12, which is OpenAPI 3.1's own. */
export type JsonSchema = {
  readonly [word: string]: unknown;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
};

export type Io = "input" | "output";

const SAFE = Number.MAX_SAFE_INTEGER;

/** Bounds that every whole number here has, and words that only zod knows, say nothing to a reader. */
function isNoise(word: string, value: unknown): boolean {
  if (word === "$schema" || word === "$id" || word === "id") return typeof value === "string";
  if (word === "format") return value === "starts_with" || value === "safeint";
  return (word === "minimum" || word === "maximum") && Math.abs(Number(value)) === SAFE;
}

function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([word, inner]) => !isNoise(word, inner));
  return Object.fromEntries(kept.map(([word, inner]) => [word, tidy(inner)]));
}

export function jsonSchemaOf(schema: z.ZodType, io: Io): JsonSchema {
  return tidy(z.toJSONSchema(schema, { io, unrepresentable: "any" })) as JsonSchema;
}

/** Each under its name; where one holds another, it refers to it. */
export function namedSchemas(names: ReadonlyMap<z.ZodType, string>, io: Io): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of names) registry.add(schema, { id });
  const uri = (id: string) => refTo(id).$ref;
  const { schemas } = z.toJSONSchema(registry, { io, uri, unrepresentable: "any" });
  return tidy(schemas) as Record<string, JsonSchema>;
}

export function refTo(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}
