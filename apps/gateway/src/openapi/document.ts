import {
  auditSchema,
  budgetSchema,
  errorAnswerSchema,
  eventSchema,
  execLineSchema,
  exitSchema,
  fileEntrySchema,
  keySchema,
  processInfoSchema,
  publishedProfileSchema,
  receiptSchema,
  sandboxSchema,
  webhookSchema,
} from "@sandboxer/contract";
import type { z } from "zod";
import type { Route } from "../rest/route.ts";
import { VERSION } from "../version.ts";
import { namedSchemas } from "./json-schema.ts";
import { operationIdOf, operationOf, TAGS, tagOf, type Vocabulary } from "./operation.ts";
import { waysIn } from "./ways.ts";

/** What has a name of its own; every other answer is named for its operation. */
const NAMED: readonly (readonly [z.ZodType, string])[] = [
  [errorAnswerSchema, "Error"],
  [sandboxSchema, "Sandbox"],
  [receiptSchema, "Receipt"],
  [processInfoSchema, "Process"],
  [execLineSchema, "ExecLine"],
  [exitSchema, "Exit"],
  [fileEntrySchema, "FileEntry"],
  [keySchema, "Key"],
  [publishedProfileSchema, "PublishedProfile"],
  [budgetSchema, "Budget"],
  [eventSchema, "Event"],
  [webhookSchema, "Webhook"],
  [auditSchema, "Audit"],
];

export interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: { readonly schemas: Vocabulary["schemas"]; readonly securitySchemes: object };
}

let known: { readonly routes: readonly Route[]; readonly document: OpenApi } | undefined;

/** OpenAPI 3.1 of exactly the routes there are, and of the few ways in that are none (`x-way`). */
export function documentOf(routes: readonly Route[]): OpenApi {
  if (known?.routes === routes) return known.document;
  const document = write(routes, vocabularyOf(routes));
  known = { routes, document };
  return document;
}

function vocabularyOf(routes: readonly Route[]): Vocabulary {
  const answers = new Map<z.ZodType, string>(NAMED);
  const bodies = new Map<z.ZodType, string>();
  const name = (names: Map<z.ZodType, string>, schema: z.ZodType, text: string) => {
    if (!names.has(schema)) names.set(schema, text[0]?.toUpperCase() + text.slice(1));
  };
  for (const route of routes) {
    const id = operationIdOf(route);
    if ("schema" in route.answer) name(answers, route.answer.schema, `${id}Answer`);
    if (route.body && route.body !== "bytes") name(bodies, route.body, `${id}Body`);
  }
  const schemas = { ...namedSchemas(answers, "output"), ...namedSchemas(bodies, "input") };
  return { answers, bodies, schemas };
}

function write(routes: readonly Route[], vocabulary: Vocabulary): OpenApi {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operationOf(route, vocabulary),
    };
  }
  for (const { path, method, operation } of waysIn()) {
    paths[path] = { ...paths[path], [method]: operation };
  }
  const used = new Set(routes.map(tagOf));
  return {
    openapi: "3.1.0",
    info: {
      title: "sand-boxer",
      version: VERSION,
      description: "One API for an isolated place to run code.",
      ...{ license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    },
    ...{ servers: [{ url: "/", description: "This gateway." }], security: [{ key: [] }] },
    tags: Object.entries(TAGS).flatMap(([name, description]) =>
      used.has(name) ? [{ name, description }] : [],
    ),
    paths,
    components: {
      schemas: vocabulary.schemas,
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "A key, as `sandboxer keys create` makes them." },
      },
    },
  };
}
