import { SandboxerError } from "@sandboxer/contract";

/** As E2B's own check of a request says it, before anything is looked for. */
export function refuseParameter(name: string, why: string): SandboxerError {
  return new SandboxerError("invalid_request", `parameter "${name}" in query has an error: ${why}`);
}

interface Bounds {
  readonly least: number;
  readonly most?: number;
}

/** A whole number within its bounds; nothing where it is not given. */
export function wholeIn(query: URLSearchParams, name: string, bounds: Bounds): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const { least, most = Number.MAX_SAFE_INTEGER } = bounds;
  if (!/^-?\d{1,16}$/.test(text)) throw refuseParameter(name, "value must be an integer");
  const value = Number(text);
  if (value < least) throw refuseParameter(name, `number must be at least ${least}`);
  if (value > most) throw refuseParameter(name, `number must be at most ${most}`);
  return value;
}

/** One of the words that are known; nothing where it is not given. */
export function wordIn<Word extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const word = words.find((one) => one === text);
  if (word === undefined) throw refuseParameter(name, `value is not one of ${words.join(", ")}`);
  return word;
}

const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/i;

/** A moment with its day, time and zone; nothing where it is not given. */
export function momentIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const atMs = MOMENT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) throw refuseParameter(name, "value is not a date-time");
  return atMs;
}
