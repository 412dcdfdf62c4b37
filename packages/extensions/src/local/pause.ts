import type { PauseFacet } from "@sandboxer/contract";
import type { Hold } from "./hold.ts";

/** hold's to do: what is stopped cannot be asked to go on. */
export function pauseThrough(hold: Hold): PauseFacet {
  return {
    async pause(ref) {
      await hold.call("pause", { id: ref });
    },
    async resume(ref) {
      await hold.call("resume", { id: ref });
    },
  };
}
