import { type Box, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { askOf, placeOf } from "../place.ts";
import { writtenEveryMs } from "./idle.ts";
import { putDown, stopsAtEnd } from "./rest.ts";
import { isStopped } from "./stopped.ts";
import { teardown } from "./teardown.ts";

/** How much longer it may be left alone; nothing when it was ended or stopped for that. */
export async function endIfUnused(house: House, sandboxId: string, idleMs: number): Promise<number> {
  const sandbox = await house.store.getSandboxById(sandboxId);
  if (sandbox?.state !== "running" && sandbox?.state !== "paused") return 0;
  if (isStopped(sandbox)) return 0;
  const agoMs = house.clock.nowMs() - ((await house.store.lastUse(sandboxId)) ?? 0);
  // Written down by another gateway: by this one it would have been noticed.
  if (agoMs >= 0 && agoMs < idleMs - writtenEveryMs(idleMs)) return idleMs - agoMs;
  const place = placeOf(house, sandbox);
  if (place && sandbox.state === "running") {
    const box = await house.boxes.open(sandboxId, () =>
      askOf(house, place, (extension, ref, context) => extension.attach(ref, context)),
    );
    if (await somethingRuns(box)) return idleMs;
  }
  const reason = `nobody used it for ${idleMs} ms`;
  if (place && stopsAtEnd(sandbox)) {
    await putDown(house, place, { reason });
    return 0;
  }
  await teardown(house, sandboxId, { ending: "expired", reason });
  return 0;
}

async function somethingRuns(box: Box): Promise<boolean> {
  try {
    return (await box.processes()).some(({ exit }) => exit === undefined);
  } catch (error) {
    if (SandboxerError.is(error) && error.code === "unsupported") return false;
    throw error;
  }
}
