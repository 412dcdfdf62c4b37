import type { Sandbox } from "@sandboxer/contract";

/** Its processes are over and its files are kept. */
export function isStopped({ state, pauseDepth }: Pick<Sandbox, "state" | "pauseDepth">): boolean {
  return state === "paused" && pauseDepth === "disk";
}
