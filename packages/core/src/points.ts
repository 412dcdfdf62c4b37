import type { Points, Principal, Sandbox } from "@sandboxer/contract";
import { actingIn } from "./attachments/acting.ts";
import { changesOf } from "./changes.ts";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

/** Each costs what the run before it changed; the sandbox's disk bounds them besides. */
const KEPT_UNLESS_SAID = 32;

/** Arguments may hold secrets, so that the same see them here as among the processes. */
export async function listPoints(house: House, principal: Principal, idOrName: string): Promise<Points> {
  authorize(principal.chain, "sandbox.exec");
  const { sandbox, box } = await reach(house, principal, "sandbox.exec", idOrName);
  const { id, uid } = await actingIn(house, principal, sandbox);
  const found = await changesOf(sandbox, box).points();
  if (uid === undefined) return found;
  const points = found.points.map((one) => (one.attachmentId === id ? one : { ...one, argv: [] }));
  return { ...found, points };
}

/** How many a run of this sandbox's keeps, its own with them. */
export function pointsKept({ spec: { workspace } }: Sandbox): number | undefined {
  if (workspace?.mode !== "copy-on-write") return undefined;
  return workspace.points ?? KEPT_UNLESS_SAID;
}
