import type { StatementSync } from "node:sqlite";

const MOST_REMEMBERED = 2_000;

/** What rarely changes is not forgotten with what every sandbox's life changes. */
export type Topic = "keys" | "sandboxes";

/** What was read lately, so that the same question on every request costs one look at a counter. */
export interface Memory {
  remember<T>(topic: Topic, key: string, read: () => T): T;
  /** This connection wrote something about it. */
  forget(topic: Topic): void;
}

/**
 * `PRAGMA data_version` is another number once any other connection, of this process or another,
 * has committed; what this connection commits it does not count, and `forget` is for that. So a
 * key revoked elsewhere is refused here by the very next request, as if nothing were remembered.
 * The look takes two locks, so a request looks once: with its key, which comes first. What it asks
 * for in the same turn of the event loop is of the same moment. Values are shared between callers,
 * who never change them.
 */
export function createMemory(dataVersion: StatementSync): Memory {
  const topics = { keys: new Map<string, unknown>(), sandboxes: new Map<string, unknown>() };
  let version: unknown;
  let hasLooked = false;
  const look = (): void => {
    const { data_version: now } = dataVersion.get() as { data_version: number };
    if (now !== version) for (const one of Object.values(topics)) one.clear();
    version = now;
    if (hasLooked) return;
    hasLooked = true;
    setImmediate(() => {
      hasLooked = false;
    });
  };
  return {
    remember<T>(topic: Topic, key: string, read: () => T): T {
      if (topic === "keys" || !hasLooked) look();
      const known = topics[topic];
      if (known.size >= MOST_REMEMBERED) known.clear();
      if (known.has(key)) return known.get(key) as T;
      const value = read();
      known.set(key, value);
      return value;
    },
    forget: (topic) => topics[topic].clear(),
  };
}
