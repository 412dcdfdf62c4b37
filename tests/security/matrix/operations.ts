/** What the matrix reads of an OpenAPI document, and the requests it makes of it. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly isPublic: boolean;
  /** What a key must be allowed, where any key is not enough. */
  readonly needs?: string;
  readonly statuses: readonly number[];
  readonly parameters: readonly Parameter[];
  /** An object that the operation accepts, where it takes JSON. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly bodySchema?: Schema;
  readonly takesBytes: boolean;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface Schema {
  readonly type?: string;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [word: string]: unknown;
}

interface Written {
  readonly security?: readonly unknown[];
  readonly "x-operation"?: string;
  /** Present on what is no route: it has tests of its own. */
  readonly "x-way"?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema; readonly example?: object }>>;
  };
  readonly responses: Readonly<Record<string, unknown>>;
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Written>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export function operationsOf({ paths, components }: Document): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, written]) => {
      if (written["x-way"] !== undefined) return [];
      const json = written.requestBody?.content["application/json"];
      const bodySchema = json && components.schemas[json.schema.$ref?.split("/").at(-1) ?? ""];
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        isPublic: written.security?.length === 0,
        ...(written["x-operation"] && { needs: written["x-operation"] }),
        statuses: Object.keys(written.responses).map(Number),
        parameters: written.parameters ?? [],
        ...(json && { body: json.example as Record<string, unknown> }),
        ...(bodySchema && { bodySchema }),
        takesBytes: written.requestBody !== undefined && !json,
      };
    }),
  );
}

/** Things a path can name. A route that names another kind must be made known here first. */
export type Named = Readonly<
  Record<
    | "id"
    | "process"
    | "port"
    | "connection"
    | "key"
    | "ref"
    | "webhook"
    | "attachment"
    | "snapshot"
    | "secret"
    | "grantee"
    | "approval"
    | "volume",
    string
  >
>;

export interface Asked {
  readonly named: Named;
  readonly apiKey?: string | undefined;
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export function requestOf(operation: Operation, asked: Asked): { path: string; init: RequestInit } {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: keyof Named) => {
    const value = asked.named[name];
    if (value === undefined) throw new Error(`the matrix does not know what {${name}} is: add it to Named`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const { name, in: place, required, example } of operation.parameters) {
    if (place === "query" && required) query.set(name, String(example));
  }
  for (const [name, value] of Object.entries(asked.query ?? {})) query.set(name, value);
  const body = asked.body ?? operation.body ?? (operation.takesBytes ? "bytes" : undefined);
  const isJson = operation.body !== undefined;
  return {
    path: query.size > 0 ? `${path}?${query}` : path,
    init: {
      method: operation.method,
      headers: {
        ...(asked.apiKey !== undefined && { authorization: `Bearer ${asked.apiKey}` }),
        ...(isJson && { "content-type": "application/json" }),
        ...asked.headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    },
  };
}

/** A value that no schema of this type accepts; nothing where any value is right. */
export function wrongFor(schema: Schema): unknown {
  if (schema.type === undefined && !schema.oneOf && !schema.anyOf) return undefined;
  return schema.type === "object" ? 7 : { wrong: true };
}
