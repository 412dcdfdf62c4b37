import { type ErrorCode, errorAnswerSchema, SandboxerError } from "@sandboxer/contract";

interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId?: string | undefined;
}

/** The gateway's error, rebuilt as the same class with the same code, hint and details. */
export function rebuild({ code, message, ...more }: ErrorBody): SandboxerError {
  return new SandboxerError(code, message, more);
}

/** An error that came within a stream. */
export function rebuildFrom(error: unknown): SandboxerError {
  const parsed = errorAnswerSchema.safeParse({ error });
  return parsed.success
    ? rebuild(parsed.data.error)
    : strange("an error of a form this client does not know");
}

/** For an answer whose status says that it failed. */
export async function failureOf(response: Response): Promise<SandboxerError> {
  const text = await response.text().catch(() => "");
  const parsed = errorAnswerSchema.safeParse(fromJson(text));
  if (parsed.success) return rebuild(parsed.data.error);
  return strange(`the answer had status ${response.status} and no error of sand-boxer's`);
}

/** Something answered, but not as a gateway of this version does. */
export function strange(message: string, cause?: unknown): SandboxerError {
  return new SandboxerError("extension_failed", message, {
    hint: "Check that the url leads to a sand-boxer gateway of this client's version.",
    cause,
  });
}

/** Nothing answered, or the answer broke off. */
export function unreachable(message: string, cause?: unknown): SandboxerError {
  return new SandboxerError("extension_unavailable", message, {
    hint: "Check the url, and that the gateway runs: `sandboxer up` starts one.",
    cause,
  });
}

export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
