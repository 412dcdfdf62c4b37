import type { Principal } from "@sandboxer/contract";
import { z } from "zod";
import { openKeptFile } from "./kept-file.ts";

const MOST_KEPT = 1_000;

const buildSchema = z.object({
  name: z.string(),
  principalId: z.string(),
  keyId: z.string(),
  /** What it left was put away. */
  cleared: z.boolean().optional(),
});

export interface Interrupted {
  readonly id: string;
  readonly name: string;
  readonly principalId: string;
  readonly keyId: string;
}

/** Which builds are under way. What is in it when a gateway starts was cut off by the end of the one before. */
export interface Journal {
  begun(build: { readonly id: string; readonly name: string; readonly principal: Principal }): void;
  over(buildId: string): void;
  interrupted(buildId: string): Interrupted | undefined;
  /** Those whose remains nobody has put away yet. */
  uncleared(): Interrupted[];
  cleared(buildId: string): void;
}

export function openJournal(file: string): Journal {
  const { all: kept, write } = openKeptFile(file, buildSchema);
  const before = new Set(kept.keys());
  const found = (id: string): Interrupted | undefined => {
    const one = before.has(id) ? kept.get(id) : undefined;
    return one && { id, ...one };
  };
  return {
    begun({ id, name, principal }) {
      kept.set(id, { name, principalId: principal.id, keyId: principal.keyId });
      if (kept.size > MOST_KEPT) kept.delete([...kept.keys()][0] as string);
      write();
    },
    over(id) {
      if (kept.delete(id)) write();
    },
    interrupted: found,
    uncleared: () => [...before].flatMap((id) => (kept.get(id)?.cleared ? [] : (found(id) ?? []))),
    cleared(id) {
      const one = kept.get(id);
      if (!one) return;
      kept.set(id, { ...one, cleared: true });
      write();
    },
  };
}
