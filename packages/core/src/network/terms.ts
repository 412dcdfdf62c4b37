import type { Attachment, GuardedNetwork, GuardedUsers, Sandbox, Terms } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { expandNetwork } from "./expand.ts";

/** All that the guard has to know about a sandbox as it is now. */
export async function termsOf(house: House, sandbox: Sandbox): Promise<Terms> {
  const network = expandNetwork(sandbox.spec.network as GuardedNetwork);
  return { network, users: usersOf(await house.store.listAttachments(sandbox.id)) };
}

/** Pure. Whoever acts as the sandbox's ordinary user cannot be told from others who do. */
export function usersOf(attachments: readonly Attachment[]): GuardedUsers {
  const living = attachments.filter(({ detachedAtMs }) => detachedAtMs === undefined);
  return {
    shared: living.flatMap(({ uid, rules }) => (uid === undefined && rules ? [rules] : [])),
    own: living.flatMap(({ id, uid, rules }) =>
      uid === undefined ? [] : [{ uid, attachmentId: id, ...(rules && { rules }) }],
    ),
  };
}

/** Somebody came or left. Resolves when the guard goes by it. */
export async function tellGuard(house: House, sandbox: Sandbox): Promise<void> {
  if (sandbox.spec.network.egress !== "guarded" || !house.guard?.knows(sandbox.id)) return;
  await house.guard.change(sandbox.id, await termsOf(house, sandbox));
}
