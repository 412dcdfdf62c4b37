import { newSandboxId, type SandboxerError } from "@sandboxer/contract";
import type { Client } from "@sandboxer/sdk";
import type { Named, Operation } from "./operations.ts";
import { absent } from "./tenants.ts";

/** Who must not learn that another's is there: `sibling` has another key of the same org. */
export type Outsider = "stranger" | "sibling";
const EVERYBODY: readonly Outsider[] = ["stranger", "sibling"];

/**
 * For everything that a path can name, from whom it is hidden. Profiles and webhooks are their
 * whole org's; a port is a number, and what it is a port of is named beside it, as the secret is
 * that somebody has been granted.
 */
const HIDDEN_FROM: Readonly<Record<keyof Named, readonly Outsider[]>> = {
  id: EVERYBODY,
  process: EVERYBODY,
  connection: EVERYBODY,
  key: EVERYBODY,
  attachment: EVERYBODY,
  snapshot: EVERYBODY,
  secret: EVERYBODY,
  approval: EVERYBODY,
  volume: EVERYBODY,
  ref: ["stranger"],
  webhook: ["stranger"],
  port: [],
  grantee: [],
};

/** They make what they name, where it is not there. */
export const MAKES = ["PUT /v1/secrets/{secret}"];

/** Somebody is hidden from whatever hides any of the names. */
export function hiddenFrom(names: readonly string[]): Outsider[] {
  const hidden = names.flatMap((name) => {
    const from = HIDDEN_FROM[name as keyof Named];
    if (!from) throw new Error(`the matrix does not know from whom {${name}} is hidden: add it to names.ts`);
    return from;
  });
  return [...new Set(hidden)];
}

export function pathNamesOf({ path }: Operation): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
}

/** Words of a body or a query that name what may be another's. */
const NAMING_WORDS = ["sandbox", "from", "profile", "keyId", "org", "attachment", "snapshot"];

interface Naming {
  readonly operation: string;
  readonly names: readonly (keyof Named)[];
  body(named: Named): object;
}

/** Every operation that names something elsewhere than in its path, and how. */
export const NAMED_IN_BODIES: readonly Naming[] = [
  { operation: "POST /v1/sandboxes", names: ["snapshot"], body: ({ snapshot: from }) => ({ from }) },
  { operation: "POST /v1/sandboxes", names: ["ref"], body: ({ ref: profile }) => ({ profile }) },
  { operation: "POST /v1/route/explain", names: ["ref"], body: ({ ref: profile }) => ({ profile }) },
  {
    operation: "POST /v1/route/explain",
    names: ["snapshot"],
    body: ({ snapshot: from }) => ({ from }),
  },
  {
    operation: "POST /v1/secrets/{secret}/grants",
    names: ["secret"],
    body: ({ grantee: keyId }) => ({ keyId }),
  },
  { operation: "POST /v1/profiles/suggest", names: ["id"], body: ({ id: sandbox }) => ({ sandbox }) },
  {
    operation: "POST /v1/attachments",
    names: ["id"],
    body: ({ id: sandbox }) => ({ mode: "chosen", sandbox }),
  },
];

/** Named like what may be another's, and something else. */
const NOTHING_OF_ANOTHERS = [
  // Paths inside the sandbox.
  "POST /v1/sandboxes/{id}/files/move",
  // Only the installation's own root key gets as far as the name of an org.
  "PUT /v1/budget",
];

/** Operations whose body or query names something, and of which the matrix does not know it. */
export function unknownNamings(operations: readonly Operation[]): string[] {
  const known = new Set([...NAMED_IN_BODIES.map(({ operation }) => operation), ...NOTHING_OF_ANOTHERS]);
  return operations.flatMap(({ name, bodySchema, parameters }) => {
    const branches = [
      bodySchema,
      ...((bodySchema?.oneOf ?? bodySchema?.anyOf ?? []) as (typeof bodySchema)[]),
    ];
    const words = [
      ...branches.flatMap((one) => Object.keys(one?.properties ?? {})),
      ...parameters.flatMap((one) => (one.in === "query" ? one.name : [])),
    ];
    return words.some((word) => NAMING_WORDS.includes(word)) && !known.has(name) ? [name] : [];
  });
}

/** Things of the owner's, a new one of each that is asked for; webhooks are the root key's. */
export async function makeNamed(
  { owner, root }: { readonly owner: Client; readonly root: Client },
  names: readonly string[],
): Promise<Named> {
  const wants = (...any: string[]) => any.some((name) => names.includes(name));
  const made: Partial<Record<keyof Named, string>> = {};
  if (wants("id", "process", "attachment", "snapshot")) {
    const sandbox = await owner.sandboxes.create({ ttlMs: 600_000, persistence: "persistent" });
    made.id = sandbox.id;
    if (wants("process")) {
      const process = await sandbox.exec({ argv: ["sleep", "600"] });
      process.detach();
      made.process = process.id;
    }
    if (wants("attachment")) {
      const { attachment } = await owner.attachments.attach({ mode: "chosen", sandbox: sandbox.id });
      made.attachment = attachment.id;
    }
    if (wants("snapshot")) made.snapshot = (await sandbox.snapshot()).id;
  }
  if (wants("approval")) {
    const asking = await owner.sandboxes.create({ ttlMs: 600_000, approvals: ["sandbox.snapshot"] });
    const refusal: SandboxerError = await asking.snapshot().then(
      () => undefined as never,
      (error) => error,
    );
    made.approval = String(refusal.details?.approvalId);
  }
  if (wants("secret", "grantee")) {
    made.secret = "OWNED";
    const bindings = [{ host: "api.example.com", place: { in: "header" as const, name: "authorization" } }];
    await owner.secrets.set(made.secret, { value: "a-secret-value", bindings });
    made.grantee = (await owner.keys.create({})).key.id;
    await owner.secrets.grant(made.secret, made.grantee);
  }
  if (wants("volume")) made.volume = (await owner.volumes.create({ name: `owned-${newSandboxId()}` })).id;
  if (wants("key")) made.key = (await owner.keys.create({})).key.id;
  if (wants("ref")) {
    const { name, version } = await owner.profiles.publish({ schema: 1, name: "owned" });
    made.ref = `${name}@${version}`;
  }
  if (wants("webhook")) {
    // An address, so that no name is looked up, and a type that never comes, so that nothing is sent.
    const body = { url: "https://1.1.1.1/", types: ["snapshot.imported" as const] };
    made.webhook = (await root.webhooks.create(body)).webhook.id;
  }
  return { ...absent(), ...made };
}
