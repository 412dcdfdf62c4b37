import { createHash } from "node:crypto";
import type { OpenApi } from "./document.ts";
import { STYLE } from "./reference-style.ts";

interface Media {
  readonly schema?: { readonly $ref?: string };
  readonly example?: unknown;
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly "x-operation"?: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: object;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Media>> }>
  >;
}

/** Nothing but its own style: no script, no frame, no host, no form. */
export const REFERENCE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The document for people: one page without a script, that opens and folds by itself. */
export function referencePage({ info, tags, paths, components }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...(operation as Operation) })),
  );
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter((one) => one.tags.includes(name));
    return `<section id="${text(name)}"><h2>${text(name)}</h2><p>${prose(description)}</p>${own.map(describe).join("")}</section>`;
  });
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${text(name)}"><summary>${text(name)}</summary>${code(schema)}</details>`,
  );
  const links = [...tags.map(({ name }) => name), "schemas"].map(
    (name) => `<a href="#${text(name)}">${text(name)}</a>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${text(info.title)} ${text(info.version)}</title><style>${STYLE}</style></head>
<body><header><h1>${text(info.title)} <small>${text(info.version)}</small></h1>
<p>${prose(info.description)} The same for programs: <a href="openapi.json">openapi.json</a>.</p>
<nav>${links.join(" ")}</nav></header>
<main>${sections.join("\n")}<section id="schemas"><h2>schemas</h2>${schemas.join("\n")}</section></main>
</body></html>
`;
}

function describe(operation: Operation & { path: string; method: string }): string {
  const { operationId, method, path, summary, parameters = [], requestBody, responses } = operation;
  const needs = operation.security ? "no key" : (operation["x-operation"] ?? "any key");
  const rows = parameters.map(
    ({ name, in: place, required, schema }) =>
      `<tr><td><code>${text(name)}</code></td><td>${place}${required ? ", required" : ""}</td><td>${code(schema)}</td></tr>`,
  );
  return `<details id="${operationId}"><summary><b class="${method}">${method.toUpperCase()}</b> <code>${text(path)}</code> ${prose(summary)}</summary>
<p>Needs: <code>${text(needs)}</code></p>
${rows.length > 0 ? `<h3>Parameters</h3><table>${rows.join("")}</table>` : ""}
${requestBody ? `<h3>Body</h3>${media(requestBody.content)}` : ""}
<h3>Answers</h3>${Object.entries(responses).map(response).join("")}</details>`;
}

function response([status, { description, content = {} }]: [string, Operation["responses"][string]]): string {
  const isFailure = Number(status) >= 400;
  return `<p><b>${status}</b> ${prose(description)}</p>${isFailure ? "" : media(content)}`;
}

function media(content: Readonly<Record<string, Media>>): string {
  return Object.entries(content)
    .map(([type, { schema, example }]) => {
      const name = schema?.$ref?.split("/").at(-1);
      const link = name ? ` <a href="#schema-${text(name)}">${text(name)}</a>` : "";
      return `<p><code>${text(type)}</code>${link}</p>${example === undefined ? "" : code(example)}`;
    })
    .join("");
}

function code(value: unknown): string {
  return `<pre>${text(JSON.stringify(value, undefined, 2))}</pre>`;
}

/** `words` between backticks become code. */
function prose(words: string): string {
  return text(words).replace(/`([^`]*)`/g, "<code>$1</code>");
}

export function text(raw: string): string {
  return raw.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
