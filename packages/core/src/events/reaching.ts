import { type NetworkCall, type ReachedPlace, SandboxerError } from "@sandboxer/contract";
import type { Clock } from "../clock.ts";
import type { Report } from "../report.ts";
import type { Store } from "../store/store.ts";
import type { Journal } from "./journal.ts";

/** A place that is new is written this soon, so that a crash forgets none that was known for longer. */
const SOON_MS = 100;
/** How often a known one was tried again is counted for so long. */
const COUNT_MS = 60_000;
/** A sandbox that tries every name there is fills no log. */
const MOST_PLACES = 256;

/** What sandboxes reach, in the log: the guard itself remembers no longer than it and they live. */
export interface Reaching {
  heard(sandboxId: string, call: NetworkCall, isNew: boolean): void;
  /** Writes what was counted and not written yet; says whether there was any. */
  tell(sandboxId: string): Promise<boolean>;
  forget(sandboxId: string): void;
  close(): Promise<void>;
}

interface Seen {
  readonly places: Map<string, ReachedPlace>;
  others: number;
  timer?: NodeJS.Timeout | undefined;
  isSoon: boolean;
}

interface Ground {
  readonly store: Store;
  readonly journal: Pick<Journal, "record">;
  readonly clock: Clock;
  readonly report: Report;
}

export function createReaching(ground: Ground): Reaching {
  const all = new Map<string, Seen>();

  const tell = async (sandboxId: string): Promise<boolean> => {
    const seen = all.get(sandboxId);
    if (!seen) return false;
    clearTimeout(seen.timer);
    seen.timer = undefined;
    seen.isSoon = false;
    const places = [...seen.places.values()].filter(isCounted);
    const { others } = seen;
    if (places.length === 0 && others === 0) return false;
    // Counted anew from here on: whoever asks twice writes nothing twice.
    for (const [key, place] of seen.places) seen.places.set(key, { ...place, ...NOTHING });
    seen.others = 0;
    try {
      const sandbox = await ground.store.getSandboxById(sandboxId);
      if (!sandbox) return false;
      const data = { places, ...(others > 0 && { others }) };
      const about = { orgId: sandbox.orgId, sandboxId, atMs: ground.clock.nowMs() };
      await ground.journal.record({ type: "network.reached", ...about, data });
      return true;
    } catch (error) {
      for (const place of places) count(seen, place);
      seen.others += others;
      ground.report(`writing what ${sandboxId} reached`, SandboxerError.from(error));
      return false;
    }
  };

  return {
    heard(sandboxId, call, isNew) {
      const seen: Seen = all.get(sandboxId) ?? { places: new Map(), others: 0, isSoon: false };
      all.set(sandboxId, seen);
      const isNewPlace = count(seen, placeOf(call, isNew));
      if (seen.timer && (seen.isSoon || !isNewPlace)) return;
      clearTimeout(seen.timer);
      seen.isSoon = isNewPlace;
      seen.timer = setTimeout(() => void tell(sandboxId), isNewPlace ? SOON_MS : COUNT_MS).unref();
    },
    tell,
    forget(sandboxId) {
      clearTimeout(all.get(sandboxId)?.timer);
      all.delete(sandboxId);
    },
    async close() {
      await Promise.all([...all.keys()].map(tell));
      for (const { timer } of all.values()) clearTimeout(timer);
      all.clear();
    },
  };
}

const NOTHING = { times: 0, upBytes: 0, downBytes: 0 };

/** Adds to what is known of its place; says whether nothing was. */
function count(seen: Seen, { times, upBytes, downBytes, ...place }: ReachedPlace): boolean {
  const key = JSON.stringify(place);
  const known = seen.places.get(key);
  if (!known && seen.places.size >= MOST_PLACES) {
    seen.others += times;
    return false;
  }
  const { times: before, upBytes: up, downBytes: down } = known ?? NOTHING;
  seen.places.set(key, {
    ...place,
    times: before + times,
    upBytes: up + upBytes,
    downBytes: down + downBytes,
  });
  return known === undefined;
}

function placeOf(call: NetworkCall, isNew: boolean): ReachedPlace {
  const { host, address, port, method, scheme, verdict, rule, cure, upBytes = 0, downBytes = 0 } = call;
  // What let it through and then met silence is told of as that, too.
  const times = isNew || verdict === "failed" ? 1 : 0;
  return {
    ...(host !== undefined ? { host } : address !== undefined && { address }),
    port,
    ...(method !== undefined && { method }),
    ...(scheme !== undefined && { scheme }),
    verdict,
    ...(rule !== undefined && { rule }),
    ...(cure !== undefined && { cure }),
    times,
    upBytes,
    downBytes,
  };
}

function isCounted({ times, upBytes, downBytes }: ReachedPlace): boolean {
  return times > 0 || upBytes > 0 || downBytes > 0;
}
