import { createHmac, timingSafeEqual } from "node:crypto";
import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { holderOf } from "./keys.ts";
import { authorize } from "./policy/authorize.ts";
import { findSandbox } from "./reach.ts";
import { getVolume } from "./volumes/volumes.ts";

/**
 * A word that speaks for one key in one sandbox and nowhere else, the same whenever it is asked for.
 * It names the key and holds none: what the key may do is looked at on every use.
 */
export async function openAccess(house: House, principal: Principal, idOrName: string): Promise<string> {
  authorize(principal.chain, "sandbox.read");
  const { id } = await findSandbox(house, principal, idOrName);
  return `${principal.keyId}.${(await sign(house, principal.keyId, id)).toString("base64url")}`;
}

/** Of a sandbox or a volume: their ids are never alike. */
export async function enterAccess(house: House, sandboxId: string, token: string): Promise<Principal> {
  const [keyId = "", signature = ""] = token.split(".");
  const given = Buffer.from(signature, "base64url");
  const right = await sign(house, keyId, sandboxId);
  if (given.length !== right.length || !timingSafeEqual(given, right)) {
    throw new SandboxerError("unauthenticated", "this is no access token of its");
  }
  return holderOf(house, await house.store.findKeyById(keyId));
}

/** The same for a volume. */
export async function openVolume(house: House, principal: Principal, idOrName: string): Promise<string> {
  const { id } = await getVolume(house, principal, idOrName);
  return `${principal.keyId}.${(await sign(house, principal.keyId, id)).toString("base64url")}`;
}

/** Who holds a key, to put away what that one left under way when a gateway ended. */
export async function actFor(house: House, keyId: string): Promise<Principal> {
  return holderOf(house, await house.store.findKeyById(keyId));
}

/** Who made a sandbox, for what that one left open to others on purpose. */
export async function standIn(house: House, sandboxId: string): Promise<Principal> {
  const keyId = await house.store.keyOfSandbox(sandboxId);
  if (keyId === undefined) throw new SandboxerError("not_found", `no sandbox ${sandboxId}`);
  return holderOf(house, await house.store.findKeyById(keyId));
}

/** Who made a sandbox, first, and those above, whether their keys still count or not. */
export async function makersOf({ store }: House, sandboxId: string): Promise<Principal[]> {
  const keyId = await store.keyOfSandbox(sandboxId);
  const maker = keyId === undefined ? undefined : (await store.findKeyById(keyId))?.principal;
  if (!maker) throw new SandboxerError("not_found", `no sandbox ${sandboxId}`);
  const above = maker.lineage.slice(0, -1).map((id) => store.findPrincipal(id));
  return [maker, ...(await Promise.all(above)).flatMap((one) => one ?? [])];
}

/** What lives under a label, across orgs. */
export async function listMarked({ store }: House, label: string): Promise<Sandbox[]> {
  return store.listMarked(label);
}

/** Every request of a sandbox's client carries the same word, and making it again takes longer than the look. */
const signed = new WeakMap<House, Map<string, Buffer>>();
const MOST_SIGNED = 2_000;

async function sign(house: House, keyId: string, sandboxId: string): Promise<Buffer> {
  const known = signed.get(house) ?? new Map<string, Buffer>();
  signed.set(house, known);
  // The same secret as for previews, whose words are base64 and so never hold a space.
  const text = `access ${keyId} ${sandboxId}`;
  const before = known.get(text);
  if (before) return before;
  const made = createHmac("sha256", await house.previewSecret())
    .update(text)
    .digest();
  if (known.size >= MOST_SIGNED) known.clear();
  known.set(text, made);
  return made;
}
