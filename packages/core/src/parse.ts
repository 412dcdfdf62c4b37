import { SandboxerError } from "@sandboxer/contract";

/** The part of a contract schema that core needs. */
interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: SchemaError };
}

interface SchemaError {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

/** Everything that comes in passes here, so that every complaint reads the same. */
export function parse<T>(schema: Schema<T>, value: unknown): T {
  const outcome = schema.safeParse(value);
  if (outcome.success) return outcome.data;
  const problems = outcome.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`,
  );
  throw new SandboxerError("invalid_request", problems.join("; "), { details: { problems } });
}
