import type { Event } from "@sandboxer/contract";
import { findAny } from "./find.ts";
import { type Entry, logsWanted } from "./logs-wanted.ts";
import { wholeIn } from "./query.ts";
import { type Call, control } from "./route.ts";

const READ_AT_ONCE = 1_000;
const MOST_ENTRIES = 1_000;

/** Of a sandbox's life and of what was started in it; what programs say is theirs. */
async function entriesOf({
  core,
  principal,
  params,
}: Call<unknown>): Promise<(Entry & { readonly fields: object })[]> {
  // What is over has its log all the same.
  const { id } = await findAny(core, principal, params.id ?? "");
  const events: Event[] = [];
  for (let after = 0; ; ) {
    const page = await core.listEvents(principal, { after, limit: READ_AT_ONCE });
    events.push(...page.filter(({ sandboxId }) => sandboxId === id));
    const last = page.at(-1);
    if (page.length < READ_AT_ONCE || !last) break;
    after = last.seq;
  }
  return events.map(({ type, atMs, data }) => ({
    timestamp: new Date(atMs).toISOString(),
    level: "info",
    message: type,
    fields: Object.fromEntries(Object.entries(data).map(([name, value]) => [name, textOf(value)])),
  }));
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

export const logRoutes = [
  control({ method: "GET", path: "/sandboxes/{id}/logs", operation: "event.read" }, async (call) => {
    const startMs = wholeIn(call.query, "start", { least: 0 }) ?? 0;
    const limit = wholeIn(call.query, "limit", { least: 0 }) ?? MOST_ENTRIES;
    const all = await entriesOf(call);
    const logEntries = all.filter(({ timestamp }) => Date.parse(timestamp) >= startMs).slice(0, limit);
    const logs = logEntries.map(({ timestamp, message }) => ({ timestamp, line: message }));
    return { status: 200, body: { logs, logEntries } };
  }),
  control({ method: "GET", path: "/v2/sandboxes/{id}/logs", operation: "event.read" }, async (call) => {
    const unsaid = { most: MOST_ENTRIES, isForward: false };
    const { limit, isForward, isWanted } = logsWanted(call.query, unsaid);
    const found = (await entriesOf(call)).filter(isWanted);
    return { status: 200, body: { logs: (isForward ? found : found.toReversed()).slice(0, limit) } };
  }),
];
