import { type Files, type Principal, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { labelsFor, notesOf } from "../labels.ts";

/** Where a keeper sees its volume. */
export const VOLUME_ROOT = "/volume";
const IDLE_MS = 60_000;
const TTL_MS = 3_600_000;
const READ_AT_ONCE = 200;

/**
 * What is in a volume is read and written from inside a sandbox that has nothing else, so that no
 * path of it ever resolves on the host. It ends when it has not been asked for a minute.
 */
export interface Keepers {
  files(principal: Principal, volumeId: string): Promise<Files>;
  /** Lets go of the volume, also for a gateway that was there before. */
  end(principal: Principal, volumeId: string): Promise<void>;
}

export function createKeepers(core: Core): Keepers {
  const known = new Map<string, Promise<string>>();

  function make(principal: Principal, key: string, volumeId: string): Promise<string> {
    const made = core
      .create(principal, {
        volumes: [{ volume: volumeId, target: VOLUME_ROOT }],
        labels: labelsFor({}, { volume: volumeId }),
        ttlMs: Math.min(TTL_MS, ...principal.chain.map((link) => link.maximumTtlMs ?? TTL_MS)),
        idleMs: IDLE_MS,
      })
      .then(({ id }) => id);
    made.catch(() => known.delete(key));
    known.set(key, made);
    return made;
  }

  return {
    async files(principal, volumeId) {
      const key = `${principal.keyId} ${volumeId}`;
      const before = known.get(key);
      if (before) {
        try {
          return await core.files(principal, await before);
        } catch (error) {
          const { code } = SandboxerError.from(error);
          if (!["sandbox_gone", "invalid_state", "not_found"].includes(code)) throw error;
          if (known.get(key) === before) known.delete(key);
        }
      }
      return core.files(principal, await (known.get(key) ?? make(principal, key, volumeId)));
    },
    async end(principal, volumeId) {
      for (const key of known.keys()) if (key.endsWith(` ${volumeId}`)) known.delete(key);
      await endKeepers(core, principal, volumeId);
    },
  };
}

/** They work on it for whoever looks into it, and are no reason to keep it. */
export async function endKeepers(core: Core, principal: Principal, volumeId: string): Promise<void> {
  let after: string | undefined;
  do {
    const query = { states: ["running"] as const, limit: READ_AT_ONCE, ...(after && { after }) };
    const { sandboxes, next } = await core.list(principal, query);
    const keepers = sandboxes.filter((one) => notesOf(one).volume === volumeId);
    await Promise.all(keepers.map(({ id }) => core.destroy(principal, id)));
    after = next;
  } while (after !== undefined);
}
