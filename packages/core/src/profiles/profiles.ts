import {
  type CreateBody,
  namesHostFolder,
  type Principal,
  type PublishedProfile,
  profileRefSchema,
  profileSchema,
  RESERVED_FIELDS,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { answerOnce, claimOf, type Once } from "../idempotency.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { viewerOf } from "../reach.ts";
import { withSnapshot } from "../snapshots/restore.ts";
import { narrowToProfile } from "./narrow.ts";
import { builtInProfiles, findProfile, parseRef, publishable } from "./resolve.ts";

/** Built-in ones first, then what the org published and the principal sees, oldest first. */
export async function knownProfiles({ store }: House, principal: Principal): Promise<PublishedProfile[]> {
  return [...builtInProfiles(), ...(await store.listProfiles(principal.orgId, viewerOf(principal)))];
}

export async function getProfile(house: House, principal: Principal, ref: string): Promise<PublishedProfile> {
  return findProfile(await knownProfiles(house, principal), parse(profileRefSchema, ref));
}

/** The next version of its name. The same again, as the newest already is, publishes nothing new. */
export async function publishProfile(
  house: House,
  principal: Principal,
  body: unknown,
  once: Once = {},
): Promise<PublishedProfile> {
  authorize(principal.chain, "profile.publish");
  refuseReserved(body);
  const profile = parse(profileSchema, body);
  if (namesHostFolder(profile.image)) authorize(principal.chain, "workspace.mount");
  const claim = claimOf(house, principal, "profile.publish", body, once);
  return answerOnce(house, claim, async () => {
    const known = await knownProfiles(house, principal);
    // Pinned as it is now: its publisher sees the snapshot, and the image is the one it lies on.
    const { from, image } = await withSnapshot(house, principal, profile);
    const pinned = from === undefined ? profile : { ...profile, from, ...(image && { image }) };
    const parts = publishable(pinned, known);
    const newest = known.findLast(({ name }) => name === profile.name);
    if (newest?.digest === parts.digest && newest.deprecatedAtMs === undefined) return newest;
    const published: PublishedProfile = {
      ...parts,
      name: profile.name,
      version: (newest?.version ?? 0) + 1,
      builtIn: false,
      publishedAtMs: house.clock.nowMs(),
    };
    const { orgId, id: principalId, lineage, team } = principal;
    if (profile.visibility === "team" && team === undefined) {
      throw new SandboxerError("invalid_request", "visibility: this key is of no team");
    }
    return house.store.publishProfile({ orgId, principalId, published, lineage, team }, claim);
  });
}

export async function deprecateProfile(
  house: House,
  principal: Principal,
  ref: string,
): Promise<PublishedProfile> {
  authorize(principal.chain, "profile.publish");
  const { name, version } = parseRef(parse(profileRefSchema, ref));
  if (version === undefined) {
    throw new SandboxerError("invalid_request", "name the version to deprecate, as in python@2");
  }
  if ((await getProfile(house, principal, ref)).builtIn) {
    throw new SandboxerError("policy_denied", "built-in profiles stay", { details: { rule: "builtIn" } });
  }
  const { orgId, id: principalId } = principal;
  const atMs = house.clock.nowMs();
  const deprecated = await house.store.deprecateProfile({ orgId, principalId, name, version, atMs });
  if (!deprecated) throw new SandboxerError("not_found", `no profile ${ref}`);
  return deprecated;
}

/** What create works on: the request within its profile, and which profile that is. */
export async function withProfile(house: House, principal: Principal, body: CreateBody) {
  refuseReserved(body);
  if (body.profile === undefined) return { body };
  const { name, version, digest, resolved } = await getProfile(house, principal, body.profile);
  const profile = { name, version, digest };
  return { body: narrowToProfile(resolved, body), profile, pool: resolved.pool };
}

/** Told apart from a misspelt field, so that whoever asks knows that it is not their mistake. */
function refuseReserved(body: unknown): void {
  const asked = RESERVED_FIELDS.filter((field) => typeof body === "object" && body !== null && field in body);
  if (asked.length === 0) return;
  throw new SandboxerError("unsupported", `${asked.join(", ")}: reserved, and not offered yet`, {
    details: { fields: asked },
    hint: "Leave it out; no extension can give it today.",
  });
}
