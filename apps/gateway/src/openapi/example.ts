import type { JsonSchema } from "./json-schema.ts";

const ID = "k3v9x0q2m7c1z8w4b6n5";

/** What a member of this name usually holds; used where it fits the member's schema. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  argv: ["python3", "-c", "print(6 * 7)"],
  path: "notes.txt",
  from: "draft.txt",
  to: "final.txt",
  target: "notes.txt",
  cwd: "project",
  user: "user",
  url: "https://example.com/hooks/sandboxer",
  version: "0.0.0",
  ttlMs: 600_000,
  timeoutMs: 10_000,
  port: "3000",
  mode: 420,
  cols: 80,
  rows: 24,
  data: "aGVsbG8K",
  reason: "takes no oci image",
  message: "the namespaces that sandboxes are made of are there",
  signal: "TERM",
  process: "p1",
  secret: "ANTHROPIC_API_KEY",
  value: "aGVsbG8K",
  host: "api.example.com",
};

/** Tried in order where only a form is known. */
const TEXTS = [
  "demo",
  ID,
  ...["key", "whk", "con", "evt", "att", "org", "sec", "apr"].map((kind) => `${kind}_${ID}`),
  "python@1",
  "1",
  "0644",
  "/srv/rootfs",
  "user.note",
  "aGVsbG8K",
  "https://example.com/hooks/sandboxer",
  "2026-01-01T00:00:00.000Z",
  "0".repeat(64),
  `sha256:${"0".repeat(64)}`,
  `${"A".repeat(43)}=`,
  `${"A".repeat(86)}==`,
];

/** A small value that the schema accepts: what must be there, and what is worth showing. */
export function exampleOf(schema: JsonSchema, name = "", schemas: Record<string, JsonSchema> = {}): unknown {
  const inner = (one: JsonSchema, called = name) => exampleOf(one, called, schemas);
  if (typeof schema.$ref === "string") return inner(schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if ("const" in schema) return schema.const;
  const usual = BY_NAME[name];
  if (usual !== undefined && fits(schema, usual)) return usual;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [first] = [schema.oneOf, schema.anyOf, schema.allOf].find(Array.isArray) ?? [];
  if (first) return inner(first);
  switch (schema.type) {
    case "object":
      return objectOf(schema, inner);
    case "array":
      return schema.items ? [inner(schema.items)] : [];
    case "string":
      return TEXTS.find((text) => fits(schema, text));
    case "integer":
    case "number":
      return numberOf(schema);
    case "boolean":
      return true;
    default:
      return {};
  }
}

function objectOf(schema: JsonSchema, inner: (one: JsonSchema, name: string) => unknown): object {
  const { properties = {}, required = [] } = schema;
  const shown = Object.entries(properties).filter(
    ([name]) => required.includes(name) || (BY_NAME[name] !== undefined && fitsByName(properties, name)),
  );
  return Object.fromEntries(shown.map(([name, one]) => [name, inner(one, name)]));
}

function fitsByName(properties: Readonly<Record<string, JsonSchema>>, name: string): boolean {
  return fits(properties[name] ?? {}, BY_NAME[name]);
}

function numberOf({ default: usual, minimum, exclusiveMinimum }: JsonSchema): number {
  if (typeof usual === "number") return usual;
  return Math.max(Number(minimum ?? 1), Number(exclusiveMinimum ?? 0) + 1, 1);
}

function fits(schema: JsonSchema, value: unknown): boolean {
  if (Array.isArray(schema.enum)) return schema.enum.includes(value);
  switch (typeof value) {
    case "string": {
      const { type, pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
      if (type !== "string" || value.length < Number(minLength) || value.length > Number(maxLength))
        return false;
      return typeof pattern !== "string" || new RegExp(pattern, "u").test(value);
    }
    case "number":
      return schema.type === "integer" || schema.type === "number";
    default:
      return Array.isArray(value) && schema.type === "array" && schema.items?.type === "string";
  }
}
