import type { House } from "./house.ts";
import { isInstanceGone } from "./instance.ts";
import type { Replay } from "./store/idempotency-store.ts";

/** Whether work that was planned has no answer, and nobody who is still at it. */
export function isAbandoned(
  house: Pick<House, "instance">,
  replay: Replay | undefined,
): replay is Replay & { readonly plan: string } {
  if (replay?.plan === undefined || replay.answer !== undefined) return false;
  return replay.creator === house.instance || isInstanceGone(replay.creator);
}
