import type { ErrorCode } from "@sandboxer/contract";
import type { z } from "zod";
import type { Route } from "../rest/route.ts";
import { exampleOf } from "./example.ts";
import { failureResponse, failuresOf } from "./failures.ts";
import { type JsonSchema, jsonSchemaOf, refTo } from "./json-schema.ts";

/** What every operation of the document is written with. */
export interface Vocabulary {
  readonly bodies: ReadonlyMap<z.ZodType, string>;
  readonly answers: ReadonlyMap<z.ZodType, string>;
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

/** `GET /v1/sandboxes/{id}/files/stat` is `getSandboxesByIdFilesStat`. */
export function operationIdOf({ method, path }: Pick<Route, "method" | "path">): string {
  const words = path
    .replace(/^\/(?:v1\/)?/, "")
    .replace(/\{(\w+)\}/g, "by-$1")
    .split(/[/.-]+/);
  return method.toLowerCase() + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join("");
}

export function tagOf({ path }: Pick<Route, "path">): string {
  const [first = "", , third] = path.replace(/^\/(?:v1\/)?/, "").split("/");
  if (first !== "sandboxes" || third === undefined) return TAGS[first] ? first : "system";
  return TAGS[third] ? third : third === "exec" ? "processes" : third === "previews" ? "ports" : first;
}

export const TAGS: Readonly<Record<string, string>> = {
  sandboxes: "Isolated places to run code, from their beginning to their end.",
  processes: "Commands inside a sandbox.",
  files: "Files inside a sandbox. Relative paths start at the user's home.",
  ports: "Connections to what listens inside a sandbox.",
  workspace: "What a sandbox changed in a folder of the host, to be looked at and brought back.",
  snapshots: "Named states of a sandbox, to start others from.",
  images: "What sandboxes are made of, kept by this installation.",
  attachments: "Who uses a sandbox, each with rights of its own.",
  keys: "Who may do what. A derived key is never wider than the one it came from.",
  profiles: "Named, versioned descriptions of sandboxes.",
  budget: "What may be spent, and what is.",
  events: "Everything that happened, in one ordered log.",
  webhooks: "The same log, sent.",
  system: "The gateway itself.",
};

export function operationOf(route: Route, vocabulary: Vocabulary): object {
  const parameters = [
    ...parametersOf(route.params, "path"),
    ...parametersOf(route.query, "query"),
    ...headersOf(route),
  ];
  const body = bodyOf(route, vocabulary);
  return {
    operationId: operationIdOf(route),
    tags: [tagOf(route)],
    summary: route.summary,
    ...(route.operation === "public" ? { security: [] } : {}),
    ...(route.operation !== "public" && route.operation !== "key" && { "x-operation": route.operation }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: { ...answerOf(route, vocabulary), ...failures(failuresOf(route)) },
  };
}

export function parametersOf(schema: z.ZodType | undefined, place: "path" | "query"): object[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = jsonSchemaOf(schema, "input");
  return Object.entries(properties).map(([name, one]) => ({
    name,
    in: place,
    ...(required.includes(name) && { required: true }),
    schema: one,
    ...((required.includes(name) || place === "path") && { example: exampleOf(one, name) }),
  }));
}

function headersOf({ idempotent, answer }: Route): object[] {
  const header = (name: string, description: string, example: string) => ({
    name,
    in: "header",
    description,
    schema: { type: "string" },
    example,
  });
  return [
    ...(idempotent
      ? [header("Idempotency-Key", "Asked again with the same, there is still one.", "order-1")]
      : []),
    ...(answer.type === "sse" ? [header("Last-Event-ID", "Where an earlier reader left off.", "41")] : []),
  ];
}

function bodyOf({ body }: Route, { bodies, schemas }: Vocabulary): object | undefined {
  if (!body) return undefined;
  if (body === "bytes") {
    return { content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } } };
  }
  const schema = refTo(bodies.get(body) ?? "");
  return {
    required: true,
    content: { "application/json": { schema, example: exampleOf(schema, "", schemas) } },
  };
}

function answerOf({ answer }: Route, { answers, schemas }: Vocabulary): object {
  switch (answer.type) {
    case "json": {
      const schema = refTo(answers.get(answer.schema) ?? "");
      const example = exampleOf(schema, "", schemas);
      const content = { "application/json": { schema, example } };
      return { [answer.status]: { description: "As asked.", content } };
    }
    case "bytes":
      return ok("The bytes, as they come.", "application/octet-stream", { type: "string", format: "binary" });
    case "text":
      return ok(answer.description, answer.contentType.split(";")[0] ?? "", { type: "string" });
    case "ndjson":
      return ok(
        "One of these a line, as it happens.",
        "application/x-ndjson",
        refTo(answers.get(answer.schema) ?? ""),
      );
    case "sse":
      return ok(
        "One of these an event, as it happens.",
        "text/event-stream",
        refTo(answers.get(answer.schema) ?? ""),
      );
  }
}

function ok(description: string, contentType: string, schema: object): object {
  return { "200": { description, content: { [contentType]: { schema } } } };
}

function failures(byStatus: ReadonlyMap<number, readonly ErrorCode[]>): object {
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, failureResponse(status, codes, refTo("Error"))]),
  );
}
