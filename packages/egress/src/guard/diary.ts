import type { Noted } from "./ward.ts";

/** Every try is written down when it is decided, and once more when more is known of it. */
export interface Diary {
  /** Gives the key under which more can be said. */
  write(sandbox: string, call: Noted): number;
  amend(sandbox: string, key: number, call: Noted): void;
}

export function createDiary(note: Diary["amend"]): Diary {
  let lastKey = 0;
  return {
    write(sandbox, call) {
      lastKey += 1;
      note(sandbox, lastKey, call);
      return lastKey;
    },
    amend: note,
  };
}
