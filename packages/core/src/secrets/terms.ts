import {
  type Attachment,
  type GuardedSecret,
  type GuardedUsers,
  type Principal,
  type Sandbox,
  SandboxerError,
  type SandboxSpec,
  type SecretBinding,
  secretsNamedIn,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import type { KeptSecret } from "../store/secret-store.ts";
import { authorizeSecrets, mayUse } from "./may-use.ts";
import { bytesFor, placeholderOf } from "./shape.ts";
import { currentValue } from "./value.ts";

/** Before anything is made: each of them is there, is the caller's to use, and can go somewhere. */
export async function admitSecrets(house: House, principal: Principal, spec: SandboxSpec): Promise<void> {
  const names = spec.secrets ?? [];
  const unsaid = namedByRules(spec).find(({ secret }) => !names.includes(secret));
  if (unsaid) {
    throw new SandboxerError("invalid_request", `network.rules: ${unsaid.secret} is not among its secrets`);
  }
  if (names.length === 0) return;
  authorizeSecrets(principal.chain, names);
  if (spec.network.egress === "deny") {
    throw new SandboxerError(
      "invalid_request",
      "secrets: without a way out there is nowhere to put them in",
      {
        hint: 'Ask for network {"egress": "guarded"} with a rule for the host it is bound to.',
      },
    );
  }
  for (const name of names) {
    const secret = await house.store.getSecret(principal.orgId, name);
    // Another's is as absent as one that never was.
    if (!secret || !mayUse(secret, principal.id)) {
      throw new SandboxerError("policy_denied", `secrets: there is no ${name} that this key may use`, {
        details: { rule: "secrets" },
        hint: "`sandboxer secrets ls` shows those it may; their owner can grant more.",
      });
    }
    await currentValue(house, secret);
  }
}

/** Never twice the same: not for another sandbox, not for another secret of the same name. */
export function placeholderIn(house: House, sandboxId: string, { id, shape }: KeptSecret): string {
  return placeholderOf(shape, house.sealer.derive(`placeholder:${sandboxId}:${id}`, bytesFor(shape)));
}

/** What commands inside find in their variables. */
export async function placeholderVariables(house: House, sandbox: Sandbox): Promise<Record<string, string>> {
  const kept = await secretsOf(house, sandbox);
  return Object.fromEntries(kept.map((one) => [one.variable, placeholderIn(house, sandbox.id, one)]));
}

/** What the guard puts in. One that its sandbox's owner may not use any more has no value. */
export async function guardedSecrets(house: House, sandbox: Sandbox): Promise<GuardedSecret[]> {
  const kept = await secretsOf(house, sandbox);
  return Promise.all(
    kept.map(async (one) => {
      const { name } = one;
      const bindings = [...one.bindings, ...boundByRules(one, sandbox)];
      const value = mayUse(one, sandbox.principalId) ? await available(house, one) : undefined;
      const placeholder = placeholderIn(house, sandbox.id, one);
      return { name, bindings, placeholder, ...(value !== undefined && { value }) };
    }),
  );
}

/** Who of those inside has which of them. */
export async function secretUsers(
  house: House,
  sandbox: Sandbox,
  attachments: readonly Attachment[],
): Promise<{ shared: GuardedUsers["sharedSecrets"]; of: ReadonlyMap<string, string[]> }> {
  const kept = await secretsOf(house, sandbox);
  const of = new Map(
    attachments.map(({ id, principalId, secrets }) => [
      id,
      kept.flatMap((one) =>
        mayUse(one, principalId) && (secrets?.includes(one.name) ?? true) ? one.name : [],
      ),
    ]),
  );
  const shared = attachments.flatMap(({ id, uid }) => (uid === undefined ? [of.get(id) ?? []] : []));
  return { shared, of };
}

async function secretsOf(house: House, { orgId, spec }: Sandbox): Promise<KeptSecret[]> {
  const found = await Promise.all((spec.secrets ?? []).map((name) => house.store.getSecret(orgId, name)));
  return found.flatMap((one) => one ?? []);
}

async function available(house: House, secret: KeptSecret): Promise<string | undefined> {
  try {
    return await currentValue(house, secret);
  } catch (error) {
    house.report(`reading the secret ${secret.name}`, SandboxerError.from(error));
    return undefined;
  }
}

/** Where the rules of a sandbox write which secret. */
function namedByRules({ network }: Pick<SandboxSpec, "network">) {
  if (network.egress === "deny") return [];
  return network.rules.flatMap(({ host, ports = [443], protocol, headers = {} }) =>
    Object.entries(headers).flatMap(([header, text]) =>
      secretsNamedIn(text).map((secret) => ({ secret, host, ports, protocol, header })),
    ),
  );
}

/**
 * Who may bind a secret binds it by a rule of a sandbox of its own. For all others it goes where its
 * owner said, whatever their rules write.
 */
function boundByRules({ name, lineage }: KeptSecret, sandbox: Sandbox): SecretBinding[] {
  if (!lineage.includes(sandbox.principalId)) return [];
  return namedByRules(sandbox.spec)
    .filter(({ secret, protocol }) => secret === name && protocol === "https")
    .map(({ host, ports, header }) => ({ host, ports: [...ports], place: { in: "header", name: header } }));
}
