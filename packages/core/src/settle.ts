import { type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { endsWithThisMachine } from "./lifecycle/ends-with-machine.ts";
import { protect } from "./network/protect.ts";
import { restoreInto } from "./snapshots/restore.ts";
import { discard, fail, type Taken } from "./try-each.ts";

/** The row says `running`, the meter starts, the clock runs; or nothing of it is left. */
export async function settle(
  house: House,
  sandbox: Sandbox,
  taken: Taken,
  claimed: boolean,
): Promise<Sandbox> {
  const { box, candidate, triedAtMs, attempts } = taken;
  const { extensionId, microUsdPerHour, pausedMicroUsdPerHour } = candidate;
  // From before the try, so that our clock ends it before the backend's own switch does.
  const expiresAtMs = triedAtMs + sandbox.spec.ttlMs;
  const location = { extensionId, hostId: box.hostId, ref: box.ref };
  try {
    await restoreInto(house, sandbox, box);
    await protect(house, sandbox, location, async () => box);
    const unsafe = await unsafeOf(house, extensionId);
    const running = await house.store.settleCreate({
      sandboxId: sandbox.id,
      claimed,
      endsWithThisMachine: endsWithThisMachine(house, sandbox, extensionId),
      location,
      bestEffort: [...box.bestEffort, ...unsafe, ...unjudged(sandbox)],
      startedAtMs: house.clock.nowMs(),
      expiresAtMs,
      coveredUntilMs: Math.min(expiresAtMs, triedAtMs + house.holdSliceMs),
      microUsdPerHour,
      pausedMicroUsdPerHour,
      data: { attempts, ...(unsafe.length > 0 && { unsafe }) },
    });
    if (!running) throw new SandboxerError("sandbox_gone", "it was ended while it was being created");
    house.pass("create.settled");
    house.boxes.keep(sandbox.id, box);
    house.reaper.watch(sandbox.id, expiresAtMs);
    house.idle.watch(sandbox.id, running.spec.idleMs);
    house.auditor.watch(running);
    return running;
  } catch (thrown) {
    house.guard?.end(sandbox.id);
    box.close();
    await discard(house, extensionId, box.ref);
    throw await fail(house, sandbox, SandboxerError.from(thrown), attempts);
  }
}

/** Recorded on the sandbox, in its receipt and in the event of its creation. */
async function unsafeOf(house: House, extensionId: string): Promise<string[]> {
  const unsafe = await house.registry.toleratedOf(extensionId);
  return unsafe.map((sentence) => `unsafe runtime: ${sentence}`);
}

/** A folder that nothing was kept from, because somebody said so. */
function unjudged({ spec: { workspace } }: Sandbox): string[] {
  if (!workspace?.allowSensitive) return [];
  return [`workspace: ${workspace.source} was not judged, because allowSensitive is set`];
}
