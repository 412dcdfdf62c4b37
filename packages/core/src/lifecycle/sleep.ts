import { type PauseFacet, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { askOf, type Place } from "../place.ts";
import { inTurn } from "../turns.ts";
import { current, type Wish } from "./current.ts";
import { getUp } from "./rest.ts";

/** Stops a sandbox. Killed between the stop and the commit, reconcile writes down what it finds. */
export function sleep(house: House, place: Place, wish: Wish): Promise<Sandbox> {
  return change(house, place, wish, {
    state: "paused",
    ask: (facet, ref, context) => facet.pause(ref, context),
    write: (asked) => house.store.pause(asked),
    places: ["pause.stopped", "pause.written"],
  });
}

/** Lets it go on, or starts it again. */
export function wake(house: House, place: Place, wish: Wish): Promise<Sandbox> {
  return change(house, place, wish, {
    state: "running",
    ask: (facet, ref, context) => facet.resume(ref, context),
    write: (asked) => house.store.resume(asked),
    places: ["resume.started", "resume.written"],
  });
}

interface Change {
  readonly state: "paused" | "running";
  ask(facet: PauseFacet, ...given: Parameters<PauseFacet["pause"]>): Promise<void>;
  write: House["store"]["pause"];
  readonly places: readonly [Parameters<House["pass"]>[0], Parameters<House["pass"]>[0]];
}

function change(
  house: House,
  place: Place,
  { principalId, reason, still }: Wish,
  how: Change,
): Promise<Sandbox> {
  const { extension } = place;
  const { id: sandboxId } = place.sandbox;
  return inTurn(house, sandboxId, async () => {
    const now = await current(house, sandboxId);
    if (now.state === how.state || (still && !(await still()))) return now;
    if (now.pauseDepth === "disk")
      return getUp(house, place, now, { principalId, ...(reason && { reason }) });
    const { pause: facet } = extension;
    if (!facet) throw new SandboxerError("unsupported", `${extension.manifest.id} cannot pause a sandbox`);
    await askOf(house, { ...place, sandbox: now }, (_, ref, context) => how.ask(facet, ref, context));
    house.pass(how.places[0]);
    const asked = { sandboxId, atMs: house.clock.nowMs(), principalId, ...(reason && { reason }) };
    const changed = await how.write(asked);
    house.pass(how.places[1]);
    return changed ?? current(house, sandboxId);
  });
}
