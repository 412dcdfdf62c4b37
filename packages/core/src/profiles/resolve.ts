import { createHash } from "node:crypto";
import { type Profile, type PublishedProfile, SandboxerError } from "@sandboxer/contract";
import { canonicalJson } from "../events/chain.ts";
import { BUILT_IN } from "./built-in.ts";

/** Base and override; later wins. Variables, labels, resources and routing add up, everything else replaces. */
function inherit(base: Profile, child: Profile): Profile {
  const { extends: _, ...own } = child;
  const { visibility: __, ...inherited } = base;
  return {
    ...inherited,
    ...own,
    ...((base.env || own.env) && { env: { ...base.env, ...own.env } }),
    ...((base.labels || own.labels) && { labels: { ...base.labels, ...own.labels } }),
    ...((base.resources || own.resources) && { resources: { ...base.resources, ...own.resources } }),
    ...((base.routing || own.routing) && { routing: { ...base.routing, ...own.routing } }),
  };
}

export function parseRef(ref: string): { name: string; version?: number } {
  const [name = "", version] = ref.split("@");
  return version === undefined ? { name } : { name, version: Number(version) };
}

/** The newest that is not deprecated, or exactly the one that is named. */
export function findProfile(published: readonly PublishedProfile[], ref: string): PublishedProfile {
  const { name, version } = parseRef(ref);
  const found =
    version === undefined
      ? published.findLast((one) => one.name === name && one.deprecatedAtMs === undefined)
      : published.find((one) => one.name === name && one.version === version);
  if (found) return found;
  const known = [...new Set(published.map((one) => one.name))].join(", ");
  throw new SandboxerError("not_found", `no profile ${ref}`, { hint: `There are: ${known}.` });
}

/** A profile with what it extends folded in and pinned, so that a later version changes nothing. */
export function publishable(
  profile: Profile,
  published: readonly PublishedProfile[],
): Pick<PublishedProfile, "profile" | "resolved" | "digest"> {
  const base = profile.extends === undefined ? undefined : findProfile(published, profile.extends);
  const pinned = base ? { ...profile, extends: `${base.name}@${base.version}` } : profile;
  const resolved = base ? inherit(base.resolved, pinned) : pinned;
  if ((resolved.maximumTtlMs ?? Number.POSITIVE_INFINITY) < (resolved.ttlMs ?? 0)) {
    throw new SandboxerError("invalid_request", "ttlMs: it is beyond maximumTtlMs");
  }
  const digest = createHash("sha256").update(canonicalJson(resolved)).digest("hex");
  return { profile: pinned, resolved, digest };
}

let builtIn: readonly PublishedProfile[] | undefined;

/** The first version of each, the same in every org. Made when asked for: most commands name no profile. */
export function builtInProfiles(): readonly PublishedProfile[] {
  builtIn ??= publishBuiltIn();
  return builtIn;
}

function publishBuiltIn(): PublishedProfile[] {
  const published: PublishedProfile[] = [];
  for (const profile of BUILT_IN) {
    const parts = publishable(profile, published);
    published.push({ ...parts, name: profile.name, version: 1, builtIn: true, publishedAtMs: 0 });
  }
  return published;
}
