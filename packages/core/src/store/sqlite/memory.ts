import type { StatementSync } from "node:sqlite";

const MOST_REMEMBERED = 2_000;

/** What was read lately, so that the same question on every request costs one look at a counter. */
export interface Memory {
  remember<T>(key: string, read: () => T): T;
  /** This connection wrote something. */
  forget(): void;
}

/**
 * `PRAGMA data_version` is another number once any other connection, of this process or another,
 * has committed; what this connection commits it does not count, and `forget` is for that. So a
 * key revoked elsewhere is refused here by the very next request, as if nothing were remembered.
 * Values are shared between callers, who never change them.
 */
export function createMemory(dataVersion: StatementSync): Memory {
  const known = new Map<string, unknown>();
  let version: unknown;
  return {
    remember<T>(key: string, read: () => T): T {
      const { data_version: now } = dataVersion.get() as { data_version: number };
      if (now !== version || known.size >= MOST_REMEMBERED) known.clear();
      version = now;
      if (known.has(key)) return known.get(key) as T;
      const value = read();
      known.set(key, value);
      return value;
    },
    forget: () => known.clear(),
  };
}
