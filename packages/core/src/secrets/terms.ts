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
  type Terms,
  useOf,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import type { KeptSecret } from "../store/secret-store.ts";
import { awsSigner, awsVariables, parseAwsKey } from "./aws.ts";
import { authorizeSecrets, mayUse } from "./may-use.ts";
import { checkMeaning } from "./meant.ts";
import { bytesFor, placeholderOf, type Shape } from "./shape.ts";
import { AGENT_VARIABLES, guardedKey, isForLogins } from "./ssh-key.ts";
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
    const secret = await house.store.getSecret(principal.orgId, name, principal.id);
    // Another's is as absent as one that never was.
    if (!secret || !mayUse(secret, principal.id)) {
      throw new SandboxerError("policy_denied", `secrets: there is no ${name} that this key may use`, {
        details: { rule: "secrets" },
        hint: "`sandboxer secrets ls` shows those it may; their owner can grant more.",
      });
    }
    checkMeaning(secret.bindings, await currentValue(house, secret));
  }
}

/** Never twice the same: not for another sandbox, not for another secret of the same name. */
export function placeholderIn(house: House, sandboxId: string, { id, shape }: KeptSecret): string {
  return placeholderOf(shape, house.sealer.derive(`placeholder:${sandboxId}:${id}`, bytesFor(shape)));
}

/** The same for parts of one that have a shape of their own. */
function drawIn(house: House, sandboxId: string, { id }: KeptSecret) {
  return (purpose: string, shape: Shape): string =>
    placeholderOf(shape, house.sealer.derive(`placeholder:${sandboxId}:${id}:${purpose}`, bytesFor(shape)));
}

/** What commands inside find in their variables. */
export async function placeholderVariables(house: House, sandbox: Sandbox): Promise<Record<string, string>> {
  const kept = await secretsOf(house, sandbox);
  const all = kept.map((one) => {
    const use = useOf(one.bindings);
    if (use === "ssh") return AGENT_VARIABLES;
    const placeholder = placeholderIn(house, sandbox.id, one);
    if (use === "word") return { [one.variable]: placeholder };
    return awsVariables(one.variable, placeholder, drawIn(house, sandbox.id, one));
  });
  return Object.assign({}, ...all);
}

/** What the guard puts in. One that its sandbox's owner may not use any more has no value. */
export async function guardedSecrets(house: House, sandbox: Sandbox): Promise<GuardedSecret[]> {
  const kept = await secretsOf(house, sandbox);
  const words = kept.filter((one) => !isForLogins(one));
  return Promise.all(
    words.map(async (one) => {
      const { name } = one;
      const use = useOf(one.bindings);
      const bindings = [...one.bindings, ...(use === "word" ? boundByRules(one, sandbox) : [])];
      const value = mayUse(one, sandbox.principalId) ? await available(house, one) : undefined;
      const placeholder = placeholderIn(house, sandbox.id, one);
      if (use === "word") return { name, bindings, placeholder, ...(value !== undefined && { value }) };
      const key = value === undefined ? undefined : parseAwsKey(value);
      const signer = awsSigner(drawIn(house, sandbox.id, one), key);
      return { name, bindings, placeholder, signer, ...(key && { value: key.id }) };
    }),
  );
}

/** The keys that the guard signs logins with, and whether there is an agent for them at all. */
export async function guardedKeys(house: House, sandbox: Sandbox): Promise<Pick<Terms, "keys" | "hasAgent">> {
  const kept = (await secretsOf(house, sandbox)).filter(isForLogins);
  const keys = await Promise.all(
    kept.map(async (one) => {
      const value = mayUse(one, sandbox.principalId) ? await available(house, one) : undefined;
      return value === undefined ? [] : [guardedKey(one.name, value, one.bindings)];
    }),
  );
  return { keys: keys.flat(), hasAgent: kept.length > 0 };
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

/** Whoever made the sandbox meant them. */
async function secretsOf(house: House, { orgId, spec, principalId }: Sandbox): Promise<KeptSecret[]> {
  const found = await Promise.all(
    (spec.secrets ?? []).map((name) => house.store.getSecret(orgId, name, principalId)),
  );
  return found.flatMap((one) => one ?? []);
}

async function available(house: House, secret: KeptSecret): Promise<string | undefined> {
  try {
    const value = await currentValue(house, secret);
    checkMeaning(secret.bindings, value);
    return value;
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
