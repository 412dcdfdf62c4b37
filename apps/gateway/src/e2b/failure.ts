import { ERRORS, type ErrorCode, SandboxerError } from "@sandboxer/contract";
import type { ErrorBody } from "../rest/failure.ts";

/** Where E2B's status for the same thing is not ours. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  sandbox_gone: 404,
  no_candidate: 400,
  unsupported: 400,
  setup_failed: 500,
  path_exists: 409,
  not_a_directory: 400,
  is_a_directory: 400,
  no_such_user: 401,
  command_not_found: 400,
  command_not_executable: 400,
};

export function statusOf(code: ErrorCode): number {
  return STATUS[code] ?? ERRORS[code].status;
}

/** E2B's clients look at `code` in the body, not at the status alone. */
export function failureOf(
  error: ErrorBody,
  status = statusOf(error.code),
): {
  readonly status: number;
  readonly body: { readonly code: number; readonly message: string };
} {
  return { status, body: { code: status, message: error.message } };
}

export function noSandbox(id: string): SandboxerError {
  const name = id.slice(0, 64);
  return new SandboxerError("not_found", `Sandbox "${name}" doesn't exist or you don't have access to it`);
}

/** Came by a name that is not ours, or from a page that may not ask: no client of E2B's does. */
export class Misdirected extends Error {
  override readonly name = "Misdirected";
  readonly status: number;
  readonly reason: SandboxerError;

  constructor(status: number, reason: SandboxerError) {
    super(reason.message);
    this.status = status;
    this.reason = reason;
  }
}

/** What a client is told on any port of a sandbox that does not run. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  readonly status: number;
  readonly body: object;

  constructor(status: number, body: object) {
    super("the sandbox cannot be reached");
    this.status = status;
    this.body = body;
  }

  static notFound(sandboxId: string): Unreachable {
    return new Unreachable(502, { sandboxId, message: "The sandbox was not found", code: 502 });
  }

  static closed(sandboxId: string, port: number): Unreachable {
    const message = "The sandbox is running but port is not open";
    return new Unreachable(502, { sandboxId, message, port, code: 502 });
  }

  static private(sandboxId: string, isMissing: boolean): Unreachable {
    const message = `The traffic access token is ${isMissing ? "missing" : "not valid"}`;
    return new Unreachable(403, { sandboxId, message, code: 403 });
  }
}
