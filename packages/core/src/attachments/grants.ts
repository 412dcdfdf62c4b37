import {
  type Attachment,
  type Principal,
  type Rights,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { refuseWider } from "../policy/delegate.ts";
import { effectiveRights } from "../policy/effective.ts";
import { imposedOn } from "./acting.ts";
import { hasOwnUser } from "./own-user.ts";

export interface Grants extends Pick<Attachment, "principalId" | "access" | "rules" | "secrets"> {
  readonly ownUser: boolean;
}

interface Asked {
  readonly keyId?: string | undefined;
  readonly access?: Attachment["access"] | undefined;
  readonly rules?: string[] | undefined;
  readonly secrets?: string[] | undefined;
  readonly user?: "own" | "ordinary" | undefined;
}

/**
 * What an attachment will be: within the rights of whoever it is for, within the rights of whoever
 * gives it, and within what that one has inside itself. Left out, it is as much as all three allow.
 */
export async function grantWithin(
  house: House,
  giver: Principal,
  sandbox: Sandbox,
  asked: Asked,
): Promise<Grants> {
  const { principalId, rights } = await holderOf(house, giver, asked.keyId);
  const imposed = await imposedInside(house, giver, sandbox);
  const links = [rights, ...giver.chain, ...imposed.map(rightsOf)];
  const most = effectiveRights(links);
  refuseWider(most, {
    ...(asked.access && { access: asked.access }),
    ...(asked.rules && { network: asked.rules }),
    ...(asked.secrets && { secrets: asked.secrets }),
  });
  const rules = asked.rules ?? most.network;
  const secrets = asked.secrets ?? most.secrets;
  const access = asked.access ?? most.access ?? "read-write";
  const ownUser = access === "read-only" || hasOwnUser(asked.user, sandbox, imposed);
  return {
    principalId,
    access,
    ownUser,
    ...(rules && { rules }),
    ...(secrets && { secrets }),
  };
}

/** One's own key, or one derived from it; anybody else's is as absent as one that never was. */
async function holderOf(house: House, giver: Principal, keyId = giver.keyId) {
  if (keyId === giver.keyId) return { principalId: giver.id, rights: {} as Rights };
  const keys = await house.store.listKeys(giver.orgId, giver.keyId);
  const byId = new Map(keys.map((key) => [key.id, key]));
  const key = byId.get(keyId);
  if (!key) throw new SandboxerError("not_found", `no key ${keyId}`);
  if (key.revokedAtMs !== undefined) throw new SandboxerError("invalid_request", "keyId: it was revoked");
  const chain: Rights[] = [];
  for (let link = byId.get(keyId); link && link.id !== giver.keyId; link = byId.get(link.parentId ?? "")) {
    chain.push(link.rights);
  }
  return { principalId: key.principal.id, rights: effectiveRights(chain) };
}

/** What the giver was itself let in with, where somebody else let it in. */
async function imposedInside(house: House, giver: Principal, { id }: Sandbox): Promise<Attachment[]> {
  const imposed = imposedOn(giver, await house.store.attachmentsOf(id, giver.id));
  const living = imposed.filter(({ detachedAtMs }) => detachedAtMs === undefined);
  if (imposed.length > 0 && living.length === 0) {
    throw new SandboxerError("policy_denied", "attachment: it has left the sandbox", {
      details: { rule: "attachment" },
    });
  }
  return living;
}

function rightsOf({ access, rules, secrets }: Attachment): Rights {
  return { access, ...(rules && { network: rules }), ...(secrets && { secrets }) };
}
