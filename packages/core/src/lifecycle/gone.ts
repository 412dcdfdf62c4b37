import { isOver, type Sandbox } from "@sandboxer/contract";
import type { House } from "../house.ts";

/** Its backend no longer knows it. Past its time that was to be expected; before, it is lost. */
export async function recordGone(house: House, sandbox: Sandbox): Promise<Sandbox> {
  const atMs = house.clock.nowMs();
  const expired = sandbox.expiresAtMs !== undefined && atMs >= sandbox.expiresAtMs;
  house.uses.end(sandbox.id);
  await house.reaching.tell(sandbox.id);
  await house.journal.flush();
  house.pass("gone.noticed");
  const gone = await house.store.markGone({
    sandboxId: sandbox.id,
    to: expired ? "expired" : "lost",
    reason: expired ? "its time was up" : "its backend no longer knows it",
    atMs,
  });
  house.pass("gone.marked");
  const now = gone ?? (await house.store.getSandboxById(sandbox.id)) ?? sandbox;
  if (isOver(now.state)) {
    house.reaper.forget(sandbox.id);
    house.idle.forget(sandbox.id);
    await house.auditor.end(now);
    house.boxes.drop(sandbox.id);
    house.guard?.forget(sandbox.id);
    house.reaching.forget(sandbox.id);
  }
  return now;
}
