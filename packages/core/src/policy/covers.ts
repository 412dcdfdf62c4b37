import { setsOf } from "../network/rule-sets.ts";

/** Whether every wish of one list is within some member of another; `undefined` is everything. */
export type Covers = (wide: string, narrow: string) => boolean;

const same: Covers = (wide, narrow) => wide === narrow;

/** `python` covers `python@2`. */
const profile: Covers = (wide, narrow) => wide === narrow || wide === narrow.replace(/@.*$/, "");

/**
 * Rules for names. A star is one label, two are any number; a rule without a port is for all of
 * them. A rule is within another when whatever it lets through, the other does too.
 */
const network: Covers = (wide, narrow) => {
  const [wideHost = "", widePort] = wide.split(":");
  const [narrowHost = "", narrowPort] = narrow.split(":");
  return (widePort === undefined || widePort === narrowPort) && hostCovers(wideHost, narrowHost);
};

function hostCovers(wide: string, narrow: string): boolean {
  if (wide === narrow || wide === "**") return true;
  if (wide.startsWith("**.")) return narrow !== "**" && narrow.endsWith(wide.slice(2));
  if (!wide.startsWith("*.") || narrow.startsWith("**")) return false;
  const labels = narrow.split(".");
  return labels.slice(1).join(".") === wide.slice(2);
}

/** `packages` covers `npm`; a name that nobody knows is covered by nothing. */
const capability: Covers = (wide, narrow) => {
  const whole = setsOf(wide);
  return whole !== undefined && (setsOf(narrow)?.every((set) => whole.includes(set)) ?? false);
};

/** The rights that are lists, and when one of their members is within another. */
export const LISTS = {
  operations: same,
  extensions: same,
  profiles: profile,
  network,
  capabilities: capability,
  secrets: same,
} as const satisfies Record<string, Covers>;
export const LIST_RULES = Object.keys(LISTS) as (keyof typeof LISTS)[];

/** What both lists cover. */
export function meet<T extends string>(
  covers: Covers,
  one: readonly T[] | undefined,
  two: readonly T[] | undefined,
): T[] | undefined {
  if (!one || !two) return (one ?? two)?.slice();
  const within = (narrow: readonly T[], wide: readonly T[]) =>
    narrow.filter((member) => wide.some((whole) => covers(whole, member)));
  return [...new Set([...within(one, two), ...within(two, one)])];
}

/** What of the second list the first does not cover. */
export function beyond(
  covers: Covers,
  wide: readonly string[] | undefined,
  asked: readonly string[] = [],
): string[] {
  return wide ? asked.filter((member) => !wide.some((whole) => covers(whole, member))) : [];
}
