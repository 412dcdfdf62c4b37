import { ERRORS, type ErrorCode, type ErrorDetails, SandboxerError } from "@sandboxer/contract";
import type { Answered } from "../exchange.ts";
import type { Log } from "../log.ts";

export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly details: ErrorDetails;
  readonly requestId: string;
}

/** Turns anything thrown into what a client may know. */
export type Report = (error: unknown) => ErrorBody;

/** What is not ours says nothing to the client but where to look: it goes to the log, whole. */
export function createReport(log: Log, requestId: string): Report {
  return (thrown) => {
    if (SandboxerError.is(thrown) && thrown.code !== "internal") {
      const { code, message, hint, details } = thrown;
      return { code, message, hint, details, requestId };
    }
    log({ level: "error", event: "defect", requestId, error: explain(thrown) });
    const message = "something went wrong inside the gateway";
    return { code: "internal", message, hint: ERRORS.internal.hint, details: {}, requestId };
  };
}

export function failureAnswer(error: ErrorBody, status: number = ERRORS[error.code].status): Answered {
  const { retryAfterMs } = error.details;
  return {
    status,
    headers: {
      "content-type": "application/json",
      ...(retryAfterMs !== undefined && { "retry-after": retryAfterSeconds(Number(retryAfterMs)) }),
    },
    body: JSON.stringify({ error }),
  };
}

function retryAfterSeconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1_000)));
}

function explain(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const cause = thrown.cause === undefined ? "" : `\ncaused by: ${explain(thrown.cause)}`;
  return `${thrown.stack ?? thrown.message}${cause}`;
}
