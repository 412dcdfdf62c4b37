import { type Issue, problemOf, SandboxerError } from "@sandboxer/contract";

/** The part of a contract schema that core needs. */
interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: SchemaError };
}

interface SchemaError {
  readonly issues: readonly Issue[];
}

/** Everything that comes in passes here, so that every complaint reads the same. */
export function parse<T>(schema: Schema<T>, value: unknown): T {
  const outcome = schema.safeParse(value);
  if (outcome.success) return outcome.data;
  const problems = outcome.error.issues.map(problemOf);
  throw new SandboxerError("invalid_request", problems.join("; "), { details: { problems } });
}
