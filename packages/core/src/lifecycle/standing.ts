import type { ListedBox, Sandbox } from "@sandboxer/contract";
import type { House } from "../house.ts";
import type { StandingSandbox } from "../store/store.ts";

/** Row and box in one word: when both are as they were, there is nothing to read and nothing to do. */
function markOf(row: StandingSandbox, box: ListedBox | undefined): string {
  const { state, pauseDepth = "", extensionId = "" } = row;
  return `${state} ${pauseDepth} ${extensionId} ${box?.ref ?? ""} ${box?.paused ?? ""} ${box?.stopped ?? ""}`;
}

/** Whether a round may pass it by: ten thousand that lie idle must cost next to nothing. */
export function standsAsBefore(house: House, row: StandingSandbox, box: ListedBox | undefined): boolean {
  const before = house.standing.get(row.id);
  return (
    before !== undefined &&
    before.mark === markOf(row, box) &&
    house.reaper.watches(row.id) &&
    (!before.idles || house.idle.watches(row.id)) &&
    (!before.guarded || (house.guard?.knows(row.id) ?? true))
  );
}

/** It was looked at in full. What is audited, or was just changed, is looked at again. */
export function rememberStanding(
  house: House,
  row: StandingSandbox,
  box: ListedBox | undefined,
  { spec }: Sandbox,
): void {
  const { state, pauseDepth, id } = row;
  const stopped = state === "paused" && pauseDepth === "disk";
  const agrees =
    (box?.stopped ?? stopped) === stopped &&
    (stopped || (box?.paused ?? state === "paused") === (state === "paused"));
  if ((state !== "running" && state !== "paused") || !box || !agrees || spec.audit) {
    house.standing.delete(id);
    return;
  }
  const guarded = !stopped && house.resident && spec.network.egress === "guarded";
  house.standing.set(id, { mark: markOf(row, box), idles: !stopped && spec.idleMs !== undefined, guarded });
}
