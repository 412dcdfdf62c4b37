/**
 * The one error table. It decides the HTTP status, whether the SDK retries, whether the router
 * fails over, the CLI's exit code and the hint a person reads. Extensions translate their vendor's
 * errors into these codes once, by status or code, never by message text.
 */
interface ErrorRow {
  /** HTTP status. */
  readonly status: number;
  /** Who can mend it. */
  readonly by: "caller" | "policy" | "billing" | "extension" | "sandbox" | "gateway";
  /** The same request may succeed later, unchanged. */
  readonly retry: boolean;
  /** The router may try the next candidate. */
  readonly failover: boolean;
  /** What the CLI exits with. */
  readonly exitCode: number;
  /** What to do about it. */
  readonly hint: string;
}

const row = (
  status: number,
  by: ErrorRow["by"],
  exitCode: number,
  hint: string,
  more: { retry?: boolean; failover?: boolean } = {},
): ErrorRow => ({
  status,
  by,
  retry: more.retry ?? false,
  failover: more.failover ?? false,
  exitCode,
  hint,
});

export const ERRORS = {
  invalid_request: row(400, "caller", 2, "Correct the fields named in the message."),
  unauthenticated: row(401, "caller", 77, "Send a valid key as `Authorization: Bearer <key>`."),
  policy_denied: row(403, "policy", 77, "Ask for less, or use a key that may do this."),
  approval_required: row(
    403,
    "policy",
    75,
    "Somebody else has to approve it (`sandboxer approvals`); then ask again in the same words.",
  ),
  not_found: row(404, "caller", 66, "Check the id; it may be gone, or belong to somebody else."),
  conflict: row(409, "caller", 75, "Something with that name exists; choose another or use it."),
  invalid_state: row(409, "caller", 75, "Wait for the sandbox to reach a state that allows this."),
  sandbox_gone: row(410, "sandbox", 69, "Create a new sandbox; this one is over."),
  payload_too_large: row(413, "caller", 65, "Send less at once."),
  idempotency_mismatch: row(422, "caller", 65, "Use a new idempotency key for a new request."),
  no_candidate: row(422, "policy", 69, "See `rejected` for what each extension lacks."),
  unsupported: row(422, "caller", 69, "Choose an extension whose manifest offers this."),
  rate_limited: row(429, "caller", 75, "Slow down and try again.", { retry: true }),
  budget_exceeded: row(402, "billing", 77, "Raise the budget, or end something that runs."),
  extension_unavailable: row(503, "extension", 69, "Run `sandboxer doctor` for what is missing.", {
    retry: true,
    failover: true,
  }),
  capacity_exhausted: row(503, "extension", 75, "Try again later, or allow another extension.", {
    retry: true,
    failover: true,
  }),
  extension_failed: row(502, "extension", 70, "Try again; if it stays, see the gateway's log.", {
    failover: true,
  }),
  deadline_exceeded: row(504, "extension", 75, "Allow more time.", { retry: true }),
  storage_full: row(507, "sandbox", 74, "Free some space, or ask for a larger disk."),
  no_such_user: row(422, "sandbox", 67, "Name a user of the sandbox's own /etc/passwd."),
  command_not_found: row(422, "sandbox", 127, "Check the spelling and the sandbox's PATH."),
  command_not_executable: row(422, "sandbox", 126, "Make it executable, or run its interpreter."),
  secret_unavailable: row(409, "caller", 69, "See where the secret comes from; `secrets ls` shows it."),
  setup_failed: row(422, "sandbox", 70, "Correct the setup; the message says how it ended."),
  port_closed: row(409, "sandbox", 69, "Start something that listens on that port, then try again.", {
    retry: true,
  }),
  path_not_found: row(404, "sandbox", 66, "Check the path; relative ones start at the home."),
  path_exists: row(409, "sandbox", 73, "Remove it first, or choose another path."),
  not_a_directory: row(409, "sandbox", 73, "Name a directory."),
  is_a_directory: row(409, "sandbox", 73, "Name a file, or ask for the removal to be recursive."),
  permission_denied: row(403, "sandbox", 77, "Act as a user who may, or change its permissions."),
  internal: row(500, "gateway", 70, "This is a defect of sand-boxer; please report it.", {
    retry: true,
  }),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERRORS, value);
}

/** Shared by every copy of this package, so that an error crosses package boundaries as itself. */
const BRAND = Symbol.for("sandboxer.error");

export type ErrorDetails = Readonly<Record<string, unknown>>;

export class SandboxerError extends Error {
  override readonly name = "SandboxerError";
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  readonly hint: string;
  /** Of the request that failed, where it went through a gateway: what its log is searched by. */
  readonly requestId?: string;

  constructor(
    code: ErrorCode,
    message: string,
    more: { details?: ErrorDetails; hint?: string; cause?: unknown; requestId?: string | undefined } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.details = more.details ?? {};
    this.hint = more.hint ?? ERRORS[code].hint;
    if (more.requestId !== undefined) this.requestId = more.requestId;
    Object.defineProperty(this, BRAND, { value: true });
  }

  static is(value: unknown): value is SandboxerError {
    return typeof value === "object" && value !== null && BRAND in value;
  }

  /** Anything thrown, as one of ours; what is not ours becomes `internal` and keeps its cause. */
  static from(value: unknown): SandboxerError {
    if (SandboxerError.is(value)) return value;
    const message = value instanceof Error ? value.message : String(value);
    return new SandboxerError("internal", message, { cause: value });
  }
}
