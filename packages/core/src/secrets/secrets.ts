import {
  newRowId,
  type Principal,
  type RotateSecretBody,
  rotateSecretBodySchema,
  SandboxerError,
  type Secret,
  type SetSecretBody,
  secretNameSchema,
  secretSchema,
  setSecretBodySchema,
  useOf,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import type { KeptSecret, Source } from "../store/secret-store.ts";
import { parseAwsKey } from "./aws.ts";
import { authorizeSecrets, mayChange, mayUse } from "./may-use.ts";
import { checkMeaning } from "./meant.ts";
import { retell } from "./retell.ts";
import { shapeOf } from "./shape.ts";
import { purposeOf, read } from "./value.ts";

/** What programs look for by themselves. */
const VARIABLES: Readonly<Record<string, string>> = { "aws-sigv4": "AWS", ssh: "SSH_AUTH_SOCK" };

/** Makes it, or gives its owner's another definition. What it is, is not shown again by anything. */
export async function setSecret(
  house: House,
  principal: Principal,
  named: string,
  body: SetSecretBody,
): Promise<Secret> {
  authorize(principal.chain, "secret.write");
  const name = parse(secretNameSchema, named);
  const {
    value,
    ref,
    command,
    bindings,
    variable = VARIABLES[useOf(bindings)] ?? name.replaceAll(/[.-]/g, "_"),
  } = parse(setSecretBodySchema, body);
  authorizeSecrets(principal.chain, [name]);
  if (value === undefined) await refuseTenants(house, principal);
  const id = (await ownSecret(house, principal, name))?.id ?? newRowId("sec");
  const source: Source =
    value === undefined
      ? elsewhere(ref, command)
      : { kind: "vault", sealed: house.sealer.seal(purposeOf(id), value) };
  const text = value ?? (await read(house, id, source));
  checkMeaning(bindings, text);
  const shape = shapeOf(useOf(bindings) === "aws-sigv4" ? parseAwsKey(text).id : text);
  const { id: principalId, orgId, lineage } = principal;
  const atMs = house.clock.nowMs();
  const kept = await house.store.setSecret({
    id,
    orgId,
    name,
    principalId,
    lineage,
    source,
    shape,
    bindings,
    variable,
    atMs,
  });
  await retell(house, kept);
  return shown(kept);
}

/** From now on this is what is put in. Placeholders inside stay as they are. */
export async function rotateSecret(
  house: House,
  principal: Principal,
  name: string,
  body: RotateSecretBody,
): Promise<Secret> {
  authorize(principal.chain, "secret.write");
  const { value } = parse(rotateSecretBodySchema, body);
  const known = await findSecret(house, principal, name, mayChange);
  const isOurs = known.source.kind === "vault";
  if (isOurs !== (value !== undefined)) {
    const message = isOurs
      ? "value: its next value is needed"
      : `value: it comes from ${known.ref}, and is read there`;
    throw new SandboxerError("invalid_request", message);
  }
  const source: Source =
    value === undefined
      ? known.source
      : { kind: "vault", sealed: house.sealer.seal(purposeOf(known.id), value) };
  const text = value ?? (await read(house, known.id, source));
  checkMeaning(known.bindings, text);
  const { orgId, id: principalId } = principal;
  const kept = await house.store.rotateSecret({
    id: known.id,
    orgId,
    name: known.name,
    source,
    principalId,
    atMs: house.clock.nowMs(),
  });
  if (!kept) throw absent(name);
  await retell(house, kept);
  return shown(kept);
}

export async function listSecrets(house: House, principal: Principal): Promise<Secret[]> {
  authorize(principal.chain, "secret.read");
  const all = await house.store.listSecrets(principal.orgId);
  return all.filter((one) => mayUse(one, principal.id)).map(shown);
}

/** Nothing is put in for it any more, anywhere. */
export async function deleteSecret(house: House, principal: Principal, name: string): Promise<void> {
  authorize(principal.chain, "secret.write");
  const known = await findSecret(house, principal, name, mayChange);
  const { orgId, id: principalId } = principal;
  await house.store.deleteSecret({
    id: known.id,
    orgId,
    name: known.name,
    principalId,
    atMs: house.clock.nowMs(),
  });
  house.secretValues.delete(known.id);
  await retell(house, known);
}

/** A name belongs to its owner; what others call so is theirs. */
async function ownSecret(house: House, { orgId, id }: Principal, name: string) {
  const meant = await house.store.getSecret(orgId, name, id);
  return meant?.principalId === id ? meant : undefined;
}

/**
 * By name or by id. One that the caller may not know of is as absent as one that never was; of
 * several that it may, and none its own, only an id can choose.
 */
export async function findSecret(
  house: House,
  principal: Principal,
  name: string,
  may: (secret: KeptSecret, principal: Principal) => boolean,
): Promise<KeptSecret> {
  const all = await house.store.listSecrets(principal.orgId);
  const known = all.filter((one) => mayUse(one, principal.id) && (one.name === name || one.id === name));
  const own = known.find((one) => one.id === name || one.principalId === principal.id);
  if (!own && known.length > 1) {
    throw new SandboxerError("conflict", `${known.length} secrets are called ${name}`, {
      details: { secrets: known.map(({ id, principalId }) => ({ id, principalId })) },
      hint: "Use the id of the one you mean.",
    });
  }
  const secret = own ?? known[0];
  if (!secret) throw absent(name);
  if (may(secret, principal)) return secret;
  throw new SandboxerError("policy_denied", `the secret ${name} is another's to change`, {
    details: { rule: "owner" },
  });
}

export function absent(name: string): SandboxerError {
  return new SandboxerError("not_found", `no secret ${name}`);
}

/** The gateway's own variables, files and programs are the operator's, and no tenant's. */
async function refuseTenants(house: House, { chain, orgId }: Principal): Promise<void> {
  if (chain.length === 1 && orgId === (await house.store.rootOrgId())) return;
  throw new SandboxerError(
    "policy_denied",
    "only the installation's root key refers to what is on its machine",
    {
      details: { rule: "installation" },
      hint: "Give the value itself.",
    },
  );
}

function elsewhere(ref: string | undefined, command: readonly string[] | undefined): Source {
  if (command) return { kind: "command", argv: command };
  const [kind, ...rest] = (ref ?? "").split(":");
  const where = rest.join(":");
  return kind === "env" ? { kind, variable: where } : { kind: "file", path: where };
}

function shown(kept: KeptSecret): Secret {
  const { source: _, shape: __, lineage: ___, grantLineages: ____, ...secret } = kept;
  return secretSchema.parse(secret);
}
