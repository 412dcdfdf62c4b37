import { type CreateBody, type Principal, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";

/** Names that E2B's clients ask for without being told; here they are what this machine has. */
const DEFAULTS = ["base", "code-interpreter-v1", "code-interpreter", "code-interpreter-beta"];
const DEFAULT_PROFILE = "base";
const TAG = /:[\w.-]+$/;

interface Template {
  readonly body: Pick<CreateBody, "profile" | "from">;
  /** The longest that it lets a sandbox live. */
  readonly maximumTtlMs?: number | undefined;
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
  const snapshot = await findSnapshot(core, principal, name);
  if (snapshot) return { body: { from: snapshot.id } };
  throw new SandboxerError("not_found", `template '${templateId}' not found`);
}

export async function isTemplate(core: Core, principal: Principal, name: string): Promise<boolean> {
  const plain = name.replace(TAG, "");
  if (DEFAULTS.includes(plain) || (await findProfile(core, principal, plain))) return true;
  return (await findSnapshot(core, principal, plain)) !== undefined;
}

async function findProfile(core: Core, principal: Principal, name: string) {
  return core.getProfile(principal, name).catch(absent);
}

export async function findSnapshot(core: Core, principal: Principal, idOrName: string) {
  const snapshots = await core.listSnapshots(principal).catch(absent);
  return snapshots?.find(({ id, name }) => id === idOrName || name === idOrName);
}

/** What is not there, and what cannot even be a name of it. */
function absent(error: unknown): undefined {
  const { code } = SandboxerError.from(error);
  if (code === "not_found" || code === "invalid_request" || code === "unsupported") return undefined;
  throw error;
}
