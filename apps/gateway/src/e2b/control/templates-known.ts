import { type CreateBody, type Principal, SandboxerError, type Snapshot } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";

/** Names that E2B's clients ask for without being told; here they are what this machine has. */
const DEFAULTS = ["base", "code-interpreter-v1", "code-interpreter", "code-interpreter-beta"];
const DEFAULT_PROFILE = "base";
const DEFAULT_TAG = "default";
const TAG = /:([\w.-]+)$/;

/** Tags that were given to a template after it was made: `<org> <name>:<tag>` to a snapshot's id. */
export type Tags = Map<string, string>;

interface Template {
  readonly body: Pick<CreateBody, "profile" | "from" | "resources">;
  /** The longest that it lets a sandbox live. */
  readonly maximumTtlMs?: number | undefined;
  readonly snapshot?: Snapshot;
}

/**
 * What a template is here: a profile, or a snapshot. A default one that asks for a way out has no
 * profile, since `base` has none to give.
 */
export async function templateFor(
  core: Core,
  principal: Principal,
  templateId: string,
  hasNetwork: boolean,
  tags: Tags = new Map(),
): Promise<Template> {
  const asked = templateId.replace(TAG, "");
  const isDefault = DEFAULTS.includes(asked);
  if (isDefault && hasNetwork) return { body: {} };
  const name = isDefault ? DEFAULT_PROFILE : asked;
  const profile = await findProfile(core, principal, name);
  if (profile) {
    const { maximumTtlMs, ttlMs } = profile.resolved;
    return { body: { profile: name }, maximumTtlMs: maximumTtlMs ?? ttlMs };
  }
  const snapshot = await findSnapshot(core, principal, templateId, tags);
  if (snapshot) return { body: { from: snapshot.id, resources: resourcesOf(snapshot) }, snapshot };
  throw new SandboxerError("not_found", `template '${templateId}' not found`);
}

function resourcesOf({ labels }: Snapshot): NonNullable<CreateBody["resources"]> {
  const [cpus, memoryMiB] = [Number(labels["e2b.cpus"]), Number(labels["e2b.memory-mib"])];
  return { ...(cpus > 0 && { cpus }), ...(memoryMiB > 0 && { memoryMiB }) };
}

/** Whether a name is this gateway's own, and so cannot be a built template's. */
export async function isReserved(core: Core, principal: Principal, name: string): Promise<boolean> {
  return DEFAULTS.includes(name) || (await findProfile(core, principal, name)) !== undefined;
}

export async function isTemplate(
  core: Core,
  principal: Principal,
  name: string,
  tags?: Tags,
): Promise<boolean> {
  if (await isReserved(core, principal, name.replace(TAG, ""))) return true;
  return (await findSnapshot(core, principal, name, tags)) !== undefined;
}

async function findProfile(core: Core, principal: Principal, name: string) {
  return core.getProfile(principal, name).catch(absent);
}

/** By id or name, or the newest that was built as a template of that name, with that tag. */
export async function findSnapshot(
  core: Core,
  principal: Principal,
  asked: string,
  given: Tags = new Map(),
): Promise<Snapshot | undefined> {
  const all = (await core.listSnapshots(principal).catch(absent)) ?? [];
  const tag = TAG.exec(asked)?.[1];
  const name = asked.replace(TAG, "");
  const own = all.find((one) => one.id === name || one.name === name);
  if (own) return own;
  const built = all.filter(({ labels }) => labels["e2b.template"] === name);
  const wanted =
    tag === undefined || tag === DEFAULT_TAG
      ? built
      : built.filter(
          (one) => one.id === given.get(`${principal.orgId} ${name}:${tag}`) || tagsOf(one).includes(tag),
        );
  return wanted.toSorted((one, other) => one.createdAtMs - other.createdAtMs).at(-1);
}

export function tagsOf({ id, labels }: Pick<Snapshot, "id" | "labels">, given: Tags = new Map()): string[] {
  const later = [...given].filter(([, snapshot]) => snapshot === id).map(([key]) => TAG.exec(key)?.[1] ?? "");
  return [...new Set([...(labels["e2b.tags"] ?? "").split(",").filter(Boolean), ...later])];
}

/** What is not there, and what cannot even be a name of it. */
function absent(error: unknown): undefined {
  const { code } = SandboxerError.from(error);
  if (code === "not_found" || code === "invalid_request" || code === "unsupported") return undefined;
  throw error;
}
