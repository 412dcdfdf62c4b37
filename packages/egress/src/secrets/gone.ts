import type { GuardedSecret } from "@sandboxer/contract";
import { partsOf, type Word } from "./book.ts";

/** Of each, so that one that changes every minute neither makes every answer slower nor others forgotten. */
const MOST_FORMER = 4;

/**
 * Whoever was given a value may say it long after it was rotated or taken back here, and it may still
 * open something there.
 */
export function withFormer(
  former: readonly Word[],
  before: readonly GuardedSecret[],
  now: readonly GuardedSecret[],
): readonly Word[] {
  const current = new Set(now.flatMap(partsOf).map(({ value }) => value));
  const all = [...former, ...before.flatMap(partsOf)];
  const gone = new Map(all.flatMap((word) => (current.has(word.value) ? [] : [[word.value, word] as const])));
  gone.delete(undefined);
  const byPlaceholder = Map.groupBy(gone.values(), ({ placeholder }) => placeholder);
  return [...byPlaceholder.values()].flatMap((words) => words.slice(-MOST_FORMER));
}

/** Terms that no longer have a secret do not make its placeholder harmless: it is stopped from now on. */
export function withRetired(
  before: readonly GuardedSecret[],
  now: readonly GuardedSecret[],
): readonly GuardedSecret[] {
  const known = new Set(now.map(({ placeholder }) => placeholder));
  const retired = before.filter(({ placeholder }) => !known.has(placeholder));
  return [...now, ...retired.map(withoutValue)];
}

function withoutValue({ value: _, signer, ...rest }: GuardedSecret): GuardedSecret {
  if (!signer) return rest;
  const { secret, token } = signer;
  const bare = { secret: { placeholder: secret.placeholder }, token: { placeholder: token.placeholder } };
  return { ...rest, signer: bare };
}
