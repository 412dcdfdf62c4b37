import { problemOf, SandboxerError } from "@sandboxer/contract";
import type { z } from "zod";

/** What a schema accepts, or an error that names every field at fault. */
export function check(schema: z.ZodType, value: unknown, where: "path" | "query" | "body"): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const found = parsed.error.issues.slice(0, 20);
  const named = found.map(problemOf);
  const issues = found.map(({ path }, at) => ({ path: path.map(String), message: named[at] }));
  const message = `the request's ${where} is not valid: ${named.slice(0, 5).join("; ").slice(0, 1000)}`;
  throw new SandboxerError("invalid_request", message, { details: { where, issues } });
}

/** A parameter given twice is refused: two readers could each take another one. */
export function queryOf({ search, searchParams }: URL): Record<string, string> {
  if (search === "") return {};
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of searchParams) {
    if (name in query) throw new SandboxerError("invalid_request", "a query parameter is given twice");
    query[name] = value;
  }
  return { ...query };
}
