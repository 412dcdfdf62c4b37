import { createHash } from "node:crypto";
import type { Principal, PublishedProfile } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";

const PROFILE_NAME = /^[a-z][a-z0-9-]{0,38}$/;
const LONGEST_HEAD = 29;

/** A version of a profile that a build has made: it starts from what the build left. */
export type Built = Pick<PublishedProfile, "name" | "version" | "resolved" | "publishedAtMs">;

export function isBuilt({ resolved }: Pick<PublishedProfile, "resolved">): boolean {
  return resolved.from !== undefined && buildIdOf({ resolved }) !== undefined;
}

export function buildIdOf({ resolved }: Pick<PublishedProfile, "resolved">): string | undefined {
  return resolved.labels?.["e2b.build"];
}

/** As its builder called it, which may be no name of a profile. */
export function templateNameOf({ name, resolved }: Pick<PublishedProfile, "name" | "resolved">): string {
  return resolved.labels?.["e2b.built-as"] ?? name;
}

/** Its own name where profiles can have it; else one that no other template gets. */
export function profileNameOf(template: string): string {
  if (PROFILE_NAME.test(template)) return template;
  const word = createHash("sha256").update(template).digest("hex").slice(0, 8);
  const clean = template
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+/, "");
  return `${(clean || "template").slice(0, LONGEST_HEAD).replace(/-+$/, "")}-${word}`;
}

/** Those that count, oldest first. */
export async function builtVersions(core: Core, principal: Principal, template: string): Promise<Built[]> {
  const name = profileNameOf(template);
  const all = await core.listProfiles(principal);
  return all.filter((one) => one.name === name && one.deprecatedAtMs === undefined && isBuilt(one));
}
