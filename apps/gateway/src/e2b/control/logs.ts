import type { Event } from "@sandboxer/contract";
import { idOf } from "../address.ts";
import { noSandbox } from "../failure.ts";
import { refuseParameter, wholeIn, wordIn } from "./query.ts";
import { type Call, control } from "./route.ts";

const READ_AT_ONCE = 1_000;
const MOST_ENTRIES = 1_000;
const LONGEST_SEARCH = 256;
const LEVELS = ["debug", "info", "warn", "error"] as const;
const DIRECTIONS = ["forward", "backward"] as const;

type Level = (typeof LEVELS)[number];

interface Entry {
  readonly timestamp: string;
  readonly level: Level;
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Of a sandbox's life and of what was started in it; what programs say is theirs. */
async function entriesOf({ core, principal, params }: Call<unknown>): Promise<Entry[]> {
  const asked = params.id ?? "";
  const id = idOf(asked);
  // What is over has its log all the same.
  await core.get(principal, id).catch(() => {
    throw noSandbox(asked);
  });
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
    fields: Object.fromEntries(Object.entries(data).map(([name, value]) => [name, String(value)])),
  }));
}

const atMsOf = ({ timestamp }: Entry) => Date.parse(timestamp);

export const logRoutes = [
  control({ method: "GET", path: "/sandboxes/{id}/logs", operation: "event.read" }, async (call) => {
    const startMs = wholeIn(call.query, "start", { least: 0 }) ?? 0;
    const limit = wholeIn(call.query, "limit", { least: 0 }) ?? MOST_ENTRIES;
    const logEntries = (await entriesOf(call)).filter((entry) => atMsOf(entry) >= startMs).slice(0, limit);
    const logs = logEntries.map(({ timestamp, message }) => ({ timestamp, line: message }));
    return { status: 200, body: { logs, logEntries } };
  }),
  control({ method: "GET", path: "/v2/sandboxes/{id}/logs", operation: "event.read" }, async (call) => {
    const wanted = wantedBy(call.query);
    const { limit, isForward } = orderIn(call.query);
    const found = (await entriesOf(call)).filter(wanted);
    const logs = (isForward ? found : found.toReversed()).slice(0, limit);
    return { status: 200, body: { logs } };
  }),
];

/** The newest come first, unless it is said otherwise. */
function orderIn(query: URLSearchParams): { readonly limit: number; readonly isForward: boolean } {
  return {
    limit: wholeIn(query, "limit", { least: 0, most: MOST_ENTRIES }) ?? MOST_ENTRIES,
    isForward: wordIn(query, "direction", DIRECTIONS) === "forward",
  };
}

/** From the cursor on in the direction that is asked for, of at least so much weight. */
function wantedBy(query: URLSearchParams): (entry: Entry) => boolean {
  const cursorMs = wholeIn(query, "cursor", { least: 0 });
  const { isForward } = orderIn(query);
  const least = LEVELS.indexOf(wordIn(query, "level", LEVELS) ?? "debug");
  const search = query.get("search") ?? "";
  if (search.length > LONGEST_SEARCH) {
    throw refuseParameter("search", `maximum string length is ${LONGEST_SEARCH}`);
  }
  return (entry) => {
    if (cursorMs !== undefined && (isForward ? atMsOf(entry) < cursorMs : atMsOf(entry) > cursorMs))
      return false;
    return LEVELS.indexOf(entry.level) >= least && entry.message.includes(search);
  };
}
