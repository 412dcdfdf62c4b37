import {
  type CreateBody,
  type ForkBody,
  forkBodySchema,
  type Principal,
  type Sandbox,
} from "@sandboxer/contract";
import { create } from "../create.ts";
import type { House } from "../house.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { findSandbox } from "../reach.ts";
import { shelfOf } from "./snapshots.ts";
import { takeSnapshot } from "./take.ts";

/** So many at once, each from the same moment, each with a life and an identity of its own. */
export async function fork(
  house: House,
  principal: Principal,
  idOrName: string,
  body: ForkBody = {},
): Promise<Sandbox[]> {
  authorize(principal.chain, "sandbox.create");
  const { count } = parse(forkBodySchema, body);
  const { spec } = await findSandbox(house, principal, idOrName);
  const snapshot = await takeSnapshot(house, principal, idOrName);
  const { schema: _, persistence: __, from: ___, ...asked } = spec;
  const made: CreateBody = { ...asked, from: snapshot.id };
  const outcomes = await Promise.allSettled(
    Array.from({ length: count }, () => create(house, principal, made)),
  );
  // Each has its own copy of everything by now.
  await shelfOf(house).remove(snapshot.id);
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  const sandboxes = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
  if (!failed) return sandboxes;
  const { destroy } = await import("../destroy.ts");
  await Promise.allSettled(sandboxes.map(({ id }) => destroy(house, principal, id)));
  throw failed.reason;
}
