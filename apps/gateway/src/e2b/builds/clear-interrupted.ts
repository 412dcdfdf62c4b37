import type { Principal } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { Log } from "../../log.ts";
import { buildIdOf, builtVersions, profileNameOf } from "./built.ts";
import type { Interrupted, Journal } from "./journal.ts";

/** On every sandbox that a build makes for itself, and on none that is made of what it built. */
export const BUILD_LABEL = "e2b.building";

const LIVING = ["provisioning", "running", "paused"] as const;

/** With a name, or it would be nobody's and be cleared away. */
export function snapshotNameOf({ id, name }: Pick<Interrupted, "id" | "name">): string {
  return `${profileNameOf(name).slice(0, 40)}-${id.slice(0, 8)}`;
}

/**
 * Puts away what the builds of a gateway before this one left: their sandboxes, and a snapshot that
 * no profile was made of. What cannot be put away now is tried at the next start; a sandbox's own
 * time ends it in any case.
 */
export async function clearInterrupted(core: Core, journal: Journal, log: Log): Promise<void> {
  for (const build of journal.uncleared()) {
    try {
      const principal = await core.actFor(build.keyId);
      await endSandboxes(core, principal, build.id);
      await dropSnapshot(core, principal, build);
      journal.cleared(build.id);
    } catch (error) {
      log({ level: "error", event: "build.left", buildId: build.id, message: String(error) });
    }
  }
}

async function endSandboxes(core: Core, principal: Principal, buildId: string): Promise<void> {
  for (let after: string | undefined; ; ) {
    const page = await core.list(principal, { states: LIVING, limit: 200, ...(after && { after }) });
    for (const { id, spec } of page.sandboxes) {
      if (spec.labels?.[BUILD_LABEL] === buildId) await core.destroy(principal, id);
    }
    after = page.next;
    if (after === undefined) return;
  }
}

async function dropSnapshot(core: Core, principal: Principal, build: Interrupted): Promise<void> {
  const made = await builtVersions(core, principal, build.name);
  if (made.some((one) => buildIdOf(one) === build.id)) return;
  const name = snapshotNameOf(build);
  const left = (await core.listSnapshots(principal)).find((one) => one.name === name);
  if (left) await core.deleteSnapshot(principal, left.id);
}
