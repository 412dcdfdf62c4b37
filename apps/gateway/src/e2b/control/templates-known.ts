import { type CreateBody, type Principal, SandboxerError, type Snapshot } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { type Built, builtVersions, isBuilt, profileNameOf } from "../builds/built.ts";
import type { Tags } from "../builds/tags.ts";

/** Names that E2B's clients ask for without being told; here they are what this machine has. */
const DEFAULTS = ["base", "code-interpreter-v1", "code-interpreter", "code-interpreter-beta"];
const DEFAULT_PROFILE = "base";
const DEFAULT_TAG = "default";
const TAG = /:([\w.-]+)$/;

interface Template {
  readonly body: Pick<CreateBody, "profile" | "from" | "resources">;
  /** The longest that it lets a sandbox live. */
  readonly maximumTtlMs?: number | undefined;
  /** Something is to be started in every sandbox of it. */
  readonly isStarted: boolean;
}

/** What a sandbox of it asks for that its profile may not have. */
interface Wanted {
  readonly hasNetwork: boolean;
  readonly hasSecrets: boolean;
}

/**
 * What a template is here: a profile, one that was built, or a snapshot. A default one that asks for a
 * way out has no profile, since `base` has none to give; a built one that asks for secrets is made of
 * the profile's snapshot, since builds know of no secrets.
 */
export async function templateFor(
  core: Core,
  principal: Principal,
  templateId: string,
  { hasNetwork, hasSecrets }: Wanted,
  tags: Tags,
): Promise<Template> {
  const asked = templateId.replace(TAG, "");
  const isDefault = DEFAULTS.includes(asked);
  if (isDefault && hasNetwork) return { body: {}, isStarted: false };
  const built = await findBuilt(core, principal, templateId, tags);
  if (built) {
    const { name, version, resolved } = built;
    const isStarted = resolved.labels?.["e2b.start"] === "true";
    if (!hasSecrets) return { body: { profile: `${name}@${version}` }, isStarted };
    return { body: { from: resolved.from, resources: resolved.resources }, isStarted };
  }
  const profile = await findProfile(core, principal, isDefault ? DEFAULT_PROFILE : asked);
  if (profile && !isBuilt(profile)) {
    const { maximumTtlMs, ttlMs } = profile.resolved;
    return { body: { profile: profile.name }, maximumTtlMs: maximumTtlMs ?? ttlMs, isStarted: false };
  }
  const snapshot = await findSnapshot(core, principal, asked);
  if (snapshot) return { body: { from: snapshot.id }, isStarted: false };
  throw new SandboxerError("not_found", `template '${templateId}' not found`);
}

/** Whether a name is this gateway's own, and so cannot be a built template's. */
export async function isReserved(core: Core, principal: Principal, name: string): Promise<boolean> {
  if (DEFAULTS.includes(name)) return true;
  const profile = await findProfile(core, principal, profileNameOf(name));
  return profile !== undefined && !isBuilt(profile);
}

export async function isTemplate(
  core: Core,
  principal: Principal,
  name: string,
  tags: Tags,
): Promise<boolean> {
  if (await isReserved(core, principal, name.replace(TAG, ""))) return true;
  if (await findBuilt(core, principal, name, tags)) return true;
  return (await findSnapshot(core, principal, name)) !== undefined;
}

async function findProfile(core: Core, principal: Principal, name: string) {
  return core.getProfile(principal, name).catch(absent);
}

/** The newest of that name, or the one that has that tag. */
export async function findBuilt(
  core: Core,
  principal: Principal,
  templateId: string,
  tags: Tags,
): Promise<Built | undefined> {
  const tag = TAG.exec(templateId)?.[1];
  const name = templateId.replace(TAG, "");
  const newest = await findProfile(core, principal, profileNameOf(name));
  if (!newest || !isBuilt(newest)) return undefined;
  if (tag === undefined || tag === DEFAULT_TAG) return newest;
  const version = tags.of(principal, await builtVersions(core, principal, name)).get(tag);
  return version;
}

/** By id or name. */
export async function findSnapshot(
  core: Core,
  principal: Principal,
  asked: string,
): Promise<Snapshot | undefined> {
  const all = (await core.listSnapshots(principal).catch(absent)) ?? [];
  return all.find(({ id, name }) => id === asked || name === asked);
}

/** What is not there, and what cannot even be a name of it. */
function absent(error: unknown): undefined {
  const { code } = SandboxerError.from(error);
  if (code === "not_found" || code === "invalid_request" || code === "unsupported") return undefined;
  throw error;
}
