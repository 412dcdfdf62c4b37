import type { Attachment, GuardedNetwork, GuardedUsers, Sandbox, Terms } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { guardedKeys, guardedSecrets, secretUsers } from "../secrets/terms.ts";
import { expandNetwork } from "./expand.ts";

/** All that the guard has to know about a sandbox as it is now. */
export async function termsOf(house: House, sandbox: Sandbox): Promise<Terms> {
  const network = expandNetwork(sandbox.spec.network as GuardedNetwork);
  const attachments = await house.store.listAttachments(sandbox.id);
  const living = attachments.filter(({ detachedAtMs }) => detachedAtMs === undefined);
  const secrets = await guardedSecrets(house, sandbox);
  const elevations = await house.store.listElevations(sandbox.id, house.clock.nowMs());
  const elevated = elevations.map(({ rules, untilMs }) => ({ rules: [...rules], untilMs }));
  const keys = await guardedKeys(house, sandbox);
  const users = usersOf(living, await secretUsers(house, sandbox, living));
  return { network, users, secrets, ...keys, elevated };
}

/** Pure. Whoever acts as the sandbox's ordinary user cannot be told from others who do. */
function usersOf(
  living: readonly Attachment[],
  secrets: Awaited<ReturnType<typeof secretUsers>>,
): GuardedUsers {
  return {
    shared: living.flatMap(({ uid, rules }) => (uid === undefined && rules ? [rules] : [])),
    sharedSecrets: secrets.shared,
    own: living.flatMap(({ id, uid, rules }) =>
      uid === undefined
        ? []
        : [{ uid, attachmentId: id, ...(rules && { rules }), secrets: secrets.of.get(id) ?? [] }],
    ),
  };
}

/** Somebody came or left. Resolves when the guard goes by it. */
export async function tellGuard(house: House, sandbox: Sandbox): Promise<void> {
  if (sandbox.spec.network.egress !== "guarded" || !house.guard?.knows(sandbox.id)) return;
  // As it is by now: whoever tells may have read the row a while ago.
  const now = (await house.store.getSandboxById(sandbox.id)) ?? sandbox;
  await house.guard.change(sandbox.id, await termsOf(house, now));
}
