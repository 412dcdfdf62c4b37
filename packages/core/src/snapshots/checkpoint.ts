import { type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { askOf, type Place } from "../place.ts";
import { keep } from "./take.ts";

/** What a `checkpoint` leaves before it stops: without it, it does not stop. */
export async function leaveCheckpoint(house: House, place: Place, now: Sandbox): Promise<void> {
  if (now.spec.persistence !== "checkpoint") return;
  if (now.state !== "running") {
    throw new SandboxerError("invalid_state", "it leaves a checkpoint when it stops: resume it first");
  }
  const box = await house.boxes.open(now.id, () =>
    askOf(house, place, (extension, ref, context) => extension.attach(ref, context)),
  );
  const { orgId, principalId, id } = now;
  const owner = { id: principalId, orgId, lineage: await house.store.lineageOf(id) };
  await keep(house, owner, now, box, { labels: { checkpoint: id } });
}
