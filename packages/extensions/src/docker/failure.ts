import { type ErrorCode, SandboxerError } from "@sandboxer/contract";
import type { Answer } from "./api.ts";

/** Docker's statuses in the house's words, once and by status. */
export function expectStatus(answer: Answer, what: string, ...expected: number[]): Answer {
  if (expected.includes(answer.status)) return answer;
  const code: ErrorCode =
    answer.status === 404
      ? "not_found"
      : answer.status === 409
        ? "conflict"
        : answer.status === 400
          ? "invalid_request"
          : "extension_failed";
  throw new SandboxerError(code, `docker, ${what}: ${messageOf(answer)}`);
}

function messageOf({ status, body }: Answer): string {
  const message = (body as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message.slice(0, 500) : `status ${status}`;
}
