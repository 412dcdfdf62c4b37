import { ERROR_CODES, ERRORS, type ErrorCode } from "@sandboxer/contract";
import type { Route } from "../rest/route.ts";

/** For a name in Host that is not this gateway's. */
const MISDIRECTED = 421;

const ANY: readonly ErrorCode[] = ["internal"];
const GUARDED: readonly ErrorCode[] = ["unauthenticated", "policy_denied", "rate_limited"];
const IN_A_SANDBOX: readonly ErrorCode[] = ERROR_CODES.filter((code) => {
  const { by } = ERRORS[code];
  return by === "sandbox" || by === "extension" || code === "invalid_state" || code === "unsupported";
});
const CREATING: readonly ErrorCode[] = [
  "conflict",
  "not_found",
  "idempotency_mismatch",
  "no_candidate",
  "budget_exceeded",
  "unsupported",
];

type Failing = Pick<Route, "path" | "method" | "operation" | "params" | "body">;

/** The codes of the error table that a route can answer with. */
function codesOf({ path, method, operation, params, body }: Failing): ErrorCode[] {
  const codes = new Set<ErrorCode>(ANY);
  const add = (more: readonly ErrorCode[]) => {
    for (const code of more) codes.add(code);
  };
  if (operation !== "public") add(GUARDED);
  // A query that nobody knows is refused everywhere.
  add(["invalid_request"]);
  if (params) add(["not_found", "conflict"]);
  if (body) add(["payload_too_large"]);
  if (path.includes("/sandboxes")) add(IN_A_SANDBOX);
  if (method === "POST" || method === "PUT") add(CREATING);
  return [...codes];
}

export function failuresOf(route: Failing): ReadonlyMap<number, readonly ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>([[MISDIRECTED, ["invalid_request"]]]);
  // A foreign Origin is refused on every route.
  for (const code of new Set<ErrorCode>([...codesOf(route), "policy_denied"])) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

/** One answer of the document, with an example for every code that it can carry. */
export function failureResponse(status: number, codes: readonly ErrorCode[], schema: object): object {
  const examples = codes.map((code) => [
    code,
    {
      value: {
        error: {
          code,
          message: status === MISDIRECTED ? "this gateway does not answer to that host name" : TITLES[code],
          hint: ERRORS[code].hint,
          details: {},
          requestId: "req_k3v9x0q2m7c1z8w4b6n5",
        },
      },
    },
  ]);
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].hint}`).join(" "),
    ...(status === ERRORS.rate_limited.status && { headers: RETRY_AFTER }),
    content: { "application/json": { schema, examples: Object.fromEntries(examples) } },
  };
}

const RETRY_AFTER = {
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" }, example: 1 },
};

const TITLES = Object.fromEntries(ERROR_CODES.map((code) => [code, code.replaceAll("_", " ")])) as Readonly<
  Record<ErrorCode, string>
>;
