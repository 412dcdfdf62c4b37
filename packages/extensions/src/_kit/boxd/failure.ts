import { type ErrorCode, SandboxerError } from "@sandboxer/contract";

/** boxd's codes in the house's words. What is not here is a defect of boxd. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  invalid_request: "invalid_request",
  already_exists: "conflict",
  not_found: "not_found",
  path_not_found: "path_not_found",
  path_exists: "path_exists",
  not_a_directory: "not_a_directory",
  is_a_directory: "is_a_directory",
  permission_denied: "permission_denied",
  no_such_user: "no_such_user",
  command_not_found: "command_not_found",
  command_not_executable: "command_not_executable",
  storage_full: "storage_full",
  exhausted: "capacity_exhausted",
  busy: "invalid_state",
  unavailable: "extension_unavailable",
  refused: "port_closed",
  unsupported: "unsupported",
};

/** The message comes from inside, so it is only ever shown, cut to a length, never acted upon. */
export function fromFailure(json: Readonly<Record<string, unknown>>): SandboxerError {
  const code = CODES[String(json.code)] ?? "extension_failed";
  return new SandboxerError(code, String(json.message ?? "no reason given").slice(0, 2_000));
}
