import { type Sandbox, SandboxerError, type SandboxState } from "@sandboxer/contract";
import { metadataOf, notesOf } from "../labels.ts";
import { type Order, pageOf } from "./page.ts";
import { momentIn, refuseParameter, wordIn } from "./query.ts";
import type { Answer, Call } from "./route.ts";
import { listedWithMounts } from "./view.ts";

const STATES = ["running", "paused"] as const satisfies SandboxState[];
const ORDERS = ["asc", "desc"] as const satisfies Order[];
const READ_AT_ONCE = 200;
const TAG = /:.*$/;

type Wanted = (sandbox: Sandbox) => boolean;

/** Newest first, or oldest; with how many of all that are wanted run, where those are wanted. */
export async function listPage(call: Call<unknown>): Promise<Answer> {
  const { query } = call;
  const order = wordIn(query, "order", ORDERS) ?? "desc";
  const states = statesIn(query);
  const newest = await newestFirst(call, states, wantedBy(query));
  const all = order === "asc" ? newest.toReversed() : newest;
  const keyOf = ({ id, createdAtMs }: Sandbox) => ({ id, atMs: createdAtMs });
  const { page, headers } = pageOf(all, query, keyOf, order);
  const running = all.filter(({ state }) => state === "running").length;
  const isTold = states.includes("running");
  const more = { ...headers, ...(isTold && { "x-total-running": String(running) }) };
  return { status: 200, body: await shown(call, page), headers: more };
}

/** As clients before paging knew it. */
export async function listRunning(call: Call<unknown>): Promise<Answer> {
  const found = await newestFirst(call, ["running"], wantedBy(call.query));
  return { status: 200, body: await shown(call, found) };
}

function shown({ core, principal }: Call<unknown>, sandboxes: readonly Sandbox[]): Promise<object[]> {
  return Promise.all(sandboxes.map((sandbox) => listedWithMounts(core, principal, sandbox)));
}

async function newestFirst(
  { core, principal }: Call<unknown>,
  states: readonly SandboxState[],
  wanted: Wanted,
): Promise<Sandbox[]> {
  const found: Sandbox[] = [];
  let after: string | undefined;
  do {
    const query = { states, limit: READ_AT_ONCE, ...(after !== undefined && { after }) };
    const { sandboxes, next } = await core.list(principal, query);
    found.push(...sandboxes.filter(wanted));
    after = next;
  } while (after !== undefined);
  return found;
}

function statesIn(query: URLSearchParams): SandboxState[] {
  const asked = query.getAll("state").flatMap((text) => text.split(","));
  if (asked.length === 0) return [...STATES];
  const known = STATES.filter((state) => asked.includes(state));
  if (known.length === new Set(asked).size) return known;
  throw refuseParameter("state", `value is not one of ${STATES.join(", ")}`);
}

function wantedBy(query: URLSearchParams): Wanted {
  const metadata = metadataIn(query.get("metadata") ?? "");
  const template = query.get("template");
  if (template !== null && TAG.test(template)) {
    const why = "tags are not supported here because sandboxes are not tag-scoped";
    throw new SandboxerError("invalid_request", `Invalid template: ${why}`);
  }
  const startedAfterMs = momentIn(query, "startedAfter") ?? 0;
  return (sandbox) => {
    if (notesOf(sandbox).volume !== undefined) return false;
    const has = metadataOf(sandbox);
    if (!metadata.every(([name, value]) => has[name] === value)) return false;
    if (template !== null && notesOf(sandbox).template?.replace(TAG, "") !== template) return false;
    return (sandbox.startedAtMs ?? sandbox.createdAtMs) >= startedAfterMs;
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
    throw new SandboxerError("invalid_request", "Error parsing metadata");
  }
}
