import { SandboxerError } from "@sandboxer/contract";
import { wholeIn } from "./query.ts";
import type { Answer } from "./route.ts";

const LONGEST_PAGE = 100;

export type Order = "asc" | "desc";

/** What a page is cut by: when it began, and what it is. */
export interface Key {
  readonly id: string;
  readonly atMs: number;
}

/** One page of what is sorted already, and the token of the next where there is one. */
export function pageOf<T>(
  all: readonly T[],
  query: URLSearchParams,
  keyOf: (one: T) => Key,
  order: Order = "desc",
): { readonly page: readonly T[] } & Pick<Answer, "headers"> {
  const limit = wholeIn(query, "limit", { least: 1, most: LONGEST_PAGE }) ?? LONGEST_PAGE;
  const token = query.get("nextToken");
  const rest = token ? all.slice(startOf(all.map(keyOf), keyIn(token, order), order)) : all;
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  if (!last || rest.length === page.length) return { page };
  return { page, headers: { "x-next-token": tokenOf(keyOf(last), order) } };
}

/** After the one that the token names; where that has ended meanwhile, from its moment on. */
function startOf(keys: readonly Key[], { id, atMs }: Key, order: Order): number {
  const at = keys.findIndex((key) => key.id === id);
  if (at >= 0) return at + 1;
  const next = keys.findIndex((key) => (order === "asc" ? key.atMs >= atMs : key.atMs <= atMs));
  return next < 0 ? keys.length : next;
}

function tokenOf({ id, atMs }: Key, order: Order): string {
  const parts = [new Date(atMs).toISOString(), id, ...(order === "asc" ? ["asc"] : [])];
  return Buffer.from(parts.join("__")).toString("base64url");
}

/** A token is good for the order that it was made for: in the other one it would lead backwards. */
function keyIn(token: string, order: Order): Key {
  const [moment = "", id = "", word, ...more] = Buffer.from(token, "base64url").toString("utf8").split("__");
  const atMs = Date.parse(moment);
  const isWhole = !Number.isNaN(atMs) && id !== "" && more.length === 0;
  if (isWhole && word === (order === "asc" ? "asc" : undefined)) return { id, atMs };
  throw new SandboxerError("invalid_request", "Invalid next token");
}
