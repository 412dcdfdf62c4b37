import { isOver, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { ask, callContext } from "../registry/registry.ts";
import { endsWithThisMachine } from "./ends-with-machine.ts";

const DESTROY_PATIENCE_MS = 60_000;

interface Wish {
  readonly ending: "destroyed" | "expired";
  readonly reason: string;
  /** Absent when the house itself acts. */
  readonly principalId?: string;
}

/** Ends a sandbox, however many ask at once. A failed try leaves it `destroying`, to be asked again. */
export function teardown(house: House, sandboxId: string, wish: Wish): Promise<Sandbox> {
  const underWay = house.teardowns.get(sandboxId);
  if (underWay) return underWay;
  const ending = end(house, sandboxId, wish).finally(() => house.teardowns.delete(sandboxId));
  house.teardowns.set(sandboxId, ending);
  return ending;
}

async function end(house: House, sandboxId: string, wish: Wish): Promise<Sandbox> {
  house.uses.end(sandboxId);
  await house.reaching.tell(sandboxId);
  const atMs = house.clock.nowMs();
  const begun = await house.journal.writeWith((earlier) =>
    house.store.beginDestroy({ ...wish, sandboxId, atMs, earlier }),
  );
  const sandbox = begun ?? (await current(house, sandboxId));
  if (isOver(sandbox.state)) return sandbox;
  if (sandbox.state !== "destroying" || !sandbox.location) {
    throw new SandboxerError("invalid_state", `a ${sandbox.state} sandbox cannot be destroyed yet`, {
      details: { state: sandbox.state },
    });
  }

  house.pass("destroy.begun");
  await house.auditor.end(sandbox);
  const { extensionId, ref } = sandbox.location;
  await ask(
    house.registry.get(extensionId),
    (extension) => extension.destroy(ref, callContext(house.installationId, DESTROY_PATIENCE_MS)),
    DESTROY_PATIENCE_MS,
  );
  house.pass("destroy.ended");
  // Only now: a reader still on the connection learns from it that the sandbox is over.
  house.boxes.drop(sandboxId);
  house.guard?.end(sandboxId);
  if (await house.reaching.tell(sandboxId)) await house.journal.flush();
  house.reaching.forget(sandboxId);
  house.reaper.forget(sandboxId);
  house.idle.forget(sandboxId);
  const endedAtMs = house.clock.nowMs();
  const ended = await house.store.finishDestroy({
    sandboxId,
    atMs: endedAtMs,
    endsWithThisMachine: endsWithThisMachine(house, sandbox, extensionId),
    principalId: wish.principalId,
  });
  house.pass("destroy.finished");
  return ended ?? current(house, sandboxId);
}

async function current(house: House, sandboxId: string): Promise<Sandbox> {
  const sandbox = await house.store.getSandboxById(sandboxId);
  if (!sandbox) throw new SandboxerError("not_found", `no sandbox ${sandboxId}`);
  return sandbox;
}
