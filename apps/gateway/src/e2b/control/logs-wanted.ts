import { refuseParameter, wholeIn, wordIn } from "./query.ts";

const LONGEST_SEARCH = 256;
const LEVELS = ["debug", "info", "warn", "error"] as const;
const DIRECTIONS = ["forward", "backward"] as const;

export type Level = (typeof LEVELS)[number];

export interface Entry {
  readonly timestamp: string;
  readonly level: Level;
  readonly message: string;
}

interface Unsaid {
  readonly most: number;
  readonly isForward: boolean;
}

interface Wanted {
  readonly limit: number;
  readonly isForward: boolean;
  isWanted(entry: Entry): boolean;
}

/** Which entries of a log a query asks for: from its cursor on, in its direction. */
export function logsWanted(query: URLSearchParams, unsaid: Unsaid): Wanted {
  const limit = wholeIn(query, "limit", { least: 0, most: unsaid.most }) ?? unsaid.most;
  const direction = wordIn(query, "direction", DIRECTIONS);
  const isForward = direction === undefined ? unsaid.isForward : direction === "forward";
  const cursorMs = wholeIn(query, "cursor", { least: 0 });
  const isHeavy = heavyEnough(query);
  const search = query.get("search") ?? "";
  if (search.length > LONGEST_SEARCH) {
    throw refuseParameter("search", `maximum string length is ${LONGEST_SEARCH}`);
  }
  const isReached = (entry: Entry) => {
    if (cursorMs === undefined) return true;
    const atMs = Date.parse(entry.timestamp);
    return isForward ? atMs >= cursorMs : atMs <= cursorMs;
  };
  const isWanted = (entry: Entry) => isReached(entry) && isHeavy(entry) && entry.message.includes(search);
  return { limit, isForward, isWanted };
}

/** Of at least the weight that is asked for. */
export function heavyEnough(query: URLSearchParams): (entry: Entry) => boolean {
  const least = LEVELS.indexOf(wordIn(query, "level", LEVELS) ?? "debug");
  return ({ level }) => LEVELS.indexOf(level) >= least;
}
