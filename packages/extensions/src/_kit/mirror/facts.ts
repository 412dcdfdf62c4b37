/** What is known of one thing on one side. */
export interface Fact {
  readonly type: "file" | "directory" | "symlink" | "other";
  /** Permission bits only. */
  readonly mode: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly target?: string;
}

/** By path, relative to the folder. */
export type Side = ReadonlyMap<string, Fact>;

/** A time that no file has: what it was is not known for sure, and it is looked at again. */
export const UNSURE_MS = -1;
/** Ours was on its way there: whatever it is now, it is no change of the sandbox's. */
export const ON_ITS_WAY_MS = -2;
/** A file that was written this shortly before it was looked at may be written again unseen. */
const TICK_MS = 15;
/** Names of a layer's own, a name that cannot be told, and those that would be another's. */
const NOT_MIRRORED = /(^|\/)\.wh\.|\uFFFD/;

/** Of a folder the time and the size move with what is in it; of a link only its target counts. */
export function isEqual(one: Fact | undefined, other: Fact | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.type !== other.type) return false;
  if (one.type === "symlink") return one.target === other.target;
  if (one.mode !== other.mode) return false;
  return one.type !== "file" || (one.size === other.size && one.mtimeMs === other.mtimeMs);
}

/** Whether one is what becomes of the other on its way to the other side: archives know seconds. */
export function isCopy(one: Fact | undefined, of: Fact | undefined): boolean {
  if (one === undefined || of === undefined) return one === of;
  return isEqual(one, of.type === "file" ? { ...of, mtimeMs: Math.floor(of.mtimeMs / 1000) * 1000 } : of);
}

/** As it is remembered; `seenAtMs` is when it was looked at. */
export function remembered(fact: Fact, seenAtMs: number): Fact {
  const isSure = fact.type !== "file" || fact.mtimeMs < seenAtMs - TICK_MS;
  return isSure ? fact : { ...fact, mtimeMs: UNSURE_MS };
}

interface Listed extends Fact {
  readonly path: string;
}

export function sideOf(entries: Iterable<Listed>): Map<string, Fact> {
  const side = new Map<string, Fact>();
  for (const { path, type, mode, size, mtimeMs, target } of entries) {
    if (NOT_MIRRORED.test(path) || target?.includes("\uFFFD")) continue;
    side.set(path, { type, mode: mode & 0o777, size, mtimeMs, ...(target !== undefined && { target }) });
  }
  return side;
}

/** The folders above a path, the nearest first. */
export function* above(path: string): Generator<string> {
  for (let cut = path.lastIndexOf("/"); cut > 0; cut = path.lastIndexOf("/", cut - 1))
    yield path.slice(0, cut);
}
