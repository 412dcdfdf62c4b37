import type { ErrorCode } from "@sandboxer/contract";

/** Connect's word for what went wrong, and the status of a unary answer with it. */
export type RpcCode = keyof typeof STATUS;

const STATUS = {
  invalid_argument: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 400,
  resource_exhausted: 429,
  unimplemented: 501,
  unavailable: 503,
  deadline_exceeded: 504,
  internal: 500,
} as const;

const CODES: Partial<Record<ErrorCode, RpcCode>> = {
  invalid_request: "invalid_argument",
  unauthenticated: "unauthenticated",
  no_such_user: "unauthenticated",
  policy_denied: "permission_denied",
  permission_denied: "permission_denied",
  not_found: "not_found",
  path_not_found: "not_found",
  path_exists: "already_exists",
  not_a_directory: "invalid_argument",
  is_a_directory: "invalid_argument",
  command_not_found: "invalid_argument",
  command_not_executable: "invalid_argument",
  payload_too_large: "resource_exhausted",
  rate_limited: "resource_exhausted",
  storage_full: "resource_exhausted",
  conflict: "failed_precondition",
  invalid_state: "failed_precondition",
  unsupported: "unimplemented",
  deadline_exceeded: "deadline_exceeded",
  sandbox_gone: "unavailable",
  extension_unavailable: "unavailable",
  capacity_exhausted: "unavailable",
};

export function rpcCodeOf(code: ErrorCode): RpcCode {
  return CODES[code] ?? "internal";
}

export function rpcStatusOf(code: RpcCode): number {
  return STATUS[code];
}
