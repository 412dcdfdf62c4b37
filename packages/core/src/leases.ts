import { type Box, SandboxerError } from "@sandboxer/contract";
import type { Clock } from "./clock.ts";
import type { Report } from "./report.ts";
import type { Store } from "./store/store.ts";

const LOOK_EVERY_MS = 500;

/** What to do when the key that began something is over. */
type OnEnd = (error: SandboxerError) => void;

/**
 * What goes on longer than the call that began it, by the key that began it: processes and streams.
 * They end with their key, also when another gateway on the same store revoked it.
 */
export interface Leases {
  /** The returned function gives the lease back; so does the end of the box's connection. */
  open(keyId: string, onEnd: OnEnd, box?: Box): () => void;
  /** These keys are over: at once, without waiting for the next look. */
  end(keyIds: readonly string[]): void;
  close(): void;
}

export function createLeases(store: Store, clock: Clock, report: Report): Leases {
  const byKey = new Map<string, Set<OnEnd>>();
  const byBox = new WeakMap<Box, Set<() => void>>();
  let timer: NodeJS.Timeout | undefined;

  const end = (keyIds: readonly string[]): void => {
    for (const keyId of keyIds) {
      const leases = byKey.get(keyId);
      byKey.delete(keyId);
      for (const onEnd of leases ?? []) onEnd(new SandboxerError("unauthenticated", "the key is over"));
    }
  };
  const look = async (): Promise<void> => {
    try {
      end(await store.listEndedKeys([...byKey.keys()], clock.nowMs()));
    } catch (error) {
      report("looking for keys that are over", SandboxerError.from(error));
    }
    timer = undefined;
    if (byKey.size > 0) schedule();
  };
  const schedule = (): void => {
    timer ??= setTimeout(look, LOOK_EVERY_MS).unref();
  };
  /** One reaction a box, however many leases come and go on it. */
  const onBox = (box: Box): Set<() => void> => {
    const known = byBox.get(box);
    if (known) return known;
    const releases = new Set<() => void>();
    byBox.set(box, releases);
    box.closed.then(() => {
      for (const release of releases) release();
    });
    return releases;
  };

  return {
    open(keyId, onEnd, box) {
      const leases = byKey.get(keyId) ?? new Set();
      byKey.set(keyId, leases.add(onEnd));
      const ofBox = box && onBox(box);
      const release = () => {
        ofBox?.delete(release);
        leases.delete(onEnd);
        if (leases.size === 0 && byKey.get(keyId) === leases) byKey.delete(keyId);
      };
      ofBox?.add(release);
      schedule();
      return release;
    },
    end,
    close() {
      clearTimeout(timer);
      byKey.clear();
    },
  };
}
