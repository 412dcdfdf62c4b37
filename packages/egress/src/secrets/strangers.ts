import type { GuardedSecret } from "@sandboxer/contract";

/** Of those that are gone, so many are still known. */
const MOST = 20_000;

/** Whose every placeholder is, so that none is of any use to another, and an attempt is seen. */
export interface Strangers {
  learn(sandbox: string, secrets: readonly GuardedSecret[]): void;
  isForeign(sandbox: string, word: string): boolean;
}

export function createStrangers(): Strangers {
  const owners = new Map<string, string>();
  return {
    learn(sandbox, secrets) {
      for (const { placeholder } of secrets) owners.set(placeholder, sandbox);
      while (owners.size > MOST) owners.delete(owners.keys().next().value as string);
    },
    isForeign: (sandbox, word) => (owners.get(word) ?? sandbox) !== sandbox,
  };
}
