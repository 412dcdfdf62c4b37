import { hash as hashOf } from "node:crypto";
import type { Event } from "@sandboxer/contract";

export const GENESIS_HASH = "0".repeat(64);

/** JSON with sorted keys and without absent members: one text for one value, whoever writes it. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map((item) => (item === undefined ? "null" : canonicalJson(item))).join(",")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}

export function hashEvent(previousHash: string, event: Omit<Event, "hash">): string {
  return hashOf("sha256", previousHash + canonicalJson(event));
}

/**
 * Where a stretch of the log first departs from what was written, or `undefined` when it does not.
 * A chain shows any change, insertion or removal within it; only a hash kept elsewhere shows that
 * its newest end was cut off.
 */
export function firstBrokenSeq(
  events: readonly Event[],
  before: Pick<Event, "seq" | "hash"> = { seq: 0, hash: GENESIS_HASH },
): number | undefined {
  let last = before;
  for (const event of events) {
    const { hash, ...content } = event;
    if (event.seq !== last.seq + 1 || hash !== hashEvent(last.hash, content)) return event.seq;
    last = event;
  }
  return undefined;
}
