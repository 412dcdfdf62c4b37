import { type Sandbox, SandboxerError, type SandboxState } from "@sandboxer/contract";
import { metadataOf, notesOf } from "../labels.ts";
import type { Answer, Call } from "./route.ts";
import { listedView } from "./view.ts";

const STATES = ["running", "paused"] as const satisfies SandboxState[];
const LONGEST_PAGE = 100;
const READ_AT_ONCE = 200;

type Wanted = (sandbox: Sandbox) => boolean;

/** Newest first, or oldest; the token of a page is the last sandbox of the one before. */
export async function listPage(call: Call<unknown>): Promise<Answer> {
  const { query } = call;
  const limit = Number(query.get("limit") ?? LONGEST_PAGE);
  if (!Number.isInteger(limit) || limit < 1 || limit > LONGEST_PAGE) {
    throw new SandboxerError("invalid_request", `limit: a whole number from 1 to ${LONGEST_PAGE}`);
  }
  const isOldestFirst = query.get("order") === "asc";
  const after = query.get("nextToken") || undefined;
  const wanted = wantedBy(query);
  const states = statesIn(query);
  const found = isOldestFirst
    ? await oldestFirst(call, states, wanted, after)
    : await newestFirst(call, states, wanted, limit + 1, after);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return { status: 200, body: page.map(listedView), ...(found.length > limit && nextPage(last)) };
}

export function nextPage(last: { readonly id: string } | undefined): Pick<Answer, "headers"> {
  return last ? { headers: { "x-next-token": last.id } } : {};
}

/** As clients before paging knew it. */
export async function listRunning(call: Call<unknown>): Promise<Answer> {
  const found = await newestFirst(call, ["running"], wantedBy(call.query), Number.POSITIVE_INFINITY);
  return { status: 200, body: found.map(listedView) };
}

async function newestFirst(
  { core, principal }: Call<unknown>,
  states: readonly SandboxState[],
  wanted: Wanted,
  most: number,
  from?: string,
): Promise<Sandbox[]> {
  const found: Sandbox[] = [];
  let after = from;
  do {
    const query = { states, limit: READ_AT_ONCE, ...(after !== undefined && { after }) };
    const { sandboxes, next } = await core.list(principal, query);
    found.push(...sandboxes.filter(wanted));
    after = next;
  } while (after !== undefined && found.length < most);
  return found;
}

async function oldestFirst(
  call: Call<unknown>,
  states: readonly SandboxState[],
  wanted: Wanted,
  from: string | undefined,
): Promise<Sandbox[]> {
  const all = (await newestFirst(call, states, wanted, Number.POSITIVE_INFINITY)).reverse();
  if (from === undefined) return all;
  const at = all.findIndex(({ id }) => id === from);
  if (at < 0) throw new SandboxerError("invalid_request", "nextToken: no such page");
  return all.slice(at + 1);
}

function statesIn(query: URLSearchParams): SandboxState[] {
  const asked = query.getAll("state").flatMap((text) => text.split(","));
  if (asked.length === 0) return [...STATES];
  const known = STATES.filter((state) => asked.includes(state));
  if (known.length === new Set(asked).size) return known;
  throw new SandboxerError("invalid_request", "state: running or paused");
}

function wantedBy(query: URLSearchParams): Wanted {
  const metadata = metadataIn(query.get("metadata") ?? "");
  const template = query.get("template");
  const startedAfterMs = Date.parse(query.get("startedAfter") ?? "");
  return (sandbox) => {
    if (notesOf(sandbox).volume !== undefined) return false;
    const has = metadataOf(sandbox);
    if (!metadata.every(([name, value]) => has[name] === value)) return false;
    if (template !== null && notesOf(sandbox).template !== template) return false;
    return !((sandbox.startedAtMs ?? sandbox.createdAtMs) < startedAfterMs);
  };
}

/** E2B's clients encode each name and value once more than a query does. */
function metadataIn(text: string): [string, string][] {
  return [...new URLSearchParams(text)].map(([name, value]) => [decode(name), decode(value)]);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new SandboxerError("invalid_request", "metadata: not encoded as a query");
  }
}
