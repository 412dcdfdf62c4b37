import {
  type CreateKeyBody,
  createKeyBodySchema,
  type IsolationClass,
  isAtLeast,
  OPERATIONS,
  type Operation,
  type Principal,
  type Rights,
  ROLES,
  SandboxerError,
  stronger,
} from "@sandboxer/contract";
import { setsOf } from "../network/rule-sets.ts";
import { parse } from "../parse.ts";

/** What every link of a chain allows, as one. Absent members are unlimited. */
export function effectiveRights(chain: readonly Rights[]): Rights {
  let operations: Operation[] | undefined;
  let extensions: string[] | undefined;
  let profiles: string[] | undefined;
  let ruleSets: string[] | undefined;
  let minimumIsolation: IsolationClass = "process";
  let maximumTtlMs = Number.POSITIVE_INFINITY;
  let budgetMicroUsd = Number.POSITIVE_INFINITY;
  for (const link of chain) {
    operations = narrowed(operations, link.operations);
    extensions = narrowed(extensions, link.extensions);
    profiles = narrowedProfiles(profiles, link.profiles);
    ruleSets = narrowedSets(ruleSets, link.ruleSets);
    minimumIsolation = stronger(minimumIsolation, link.minimumIsolation ?? "process");
    maximumTtlMs = Math.min(maximumTtlMs, link.maximumTtlMs ?? maximumTtlMs);
    budgetMicroUsd = Math.min(budgetMicroUsd, link.budgetMicroUsd ?? budgetMicroUsd);
  }
  return {
    ...(operations && { operations }),
    ...(extensions && { extensions }),
    ...(profiles && { profiles }),
    ...(ruleSets && { ruleSets }),
    ...(minimumIsolation !== "process" && { minimumIsolation }),
    ...(Number.isFinite(maximumTtlMs) && { maximumTtlMs }),
    ...(Number.isFinite(budgetMicroUsd) && { budgetMicroUsd }),
  };
}

/** `python` covers `python@2`, so what is left of two lists is what both cover. */
function narrowedProfiles(wide: string[] | undefined, link: string[] | undefined): string[] | undefined {
  if (!wide || !link) return wide ?? link;
  const both = [...wide.filter((one) => covers(link, one)), ...link.filter((one) => covers(wide, one))];
  return [...new Set(both)];
}

function covers(profiles: readonly string[], one: string): boolean {
  return profiles.includes(one) || profiles.includes(one.replace(/@.*$/, ""));
}

/** A capability stands for its sets, so what is left of two lists is what both stand for. */
function narrowedSets(wide: string[] | undefined, link: string[] | undefined): string[] | undefined {
  if (!wide || !link) return wide ?? link;
  const kept = new Set(link.flatMap((name) => setsOf(name) ?? []));
  return [...new Set(wide.flatMap((name) => setsOf(name) ?? []))].filter((name) => kept.has(name));
}

/** `undefined` is everything. */
function narrowed<T>(wide: T[] | undefined, link: readonly T[] | undefined): T[] | undefined {
  if (!link) return wide;
  return wide ? wide.filter((one) => link.includes(one)) : [...link];
}

/**
 * What a child key of this principal will be. Never wider than its parent: asking for more is
 * refused and names the rule, so that nobody believes in a right that the chain takes away.
 */
export function delegate(principal: Principal, body: CreateKeyBody, nowMs: number) {
  const { name, kind, team, role, expiresAtMs, ...asked } = parse(createKeyBodySchema, body);
  if (role && asked.operations) {
    throw new SandboxerError("invalid_request", "role: give a role or operations, not both");
  }
  const rights: Rights = { ...asked, ...(role && { operations: [...ROLES[role]] }) };
  refuseWider(effectiveRights(principal.chain), rights);
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
    throw new SandboxerError("invalid_request", "expiresAtMs: it is in the past");
  }
  const { team: ownTeam, expiresAtMs: ownEndMs = Number.POSITIVE_INFINITY } = principal;
  if ((expiresAtMs ?? 0) > ownEndMs) {
    deny("expiresAtMs", `this key itself ends at ${new Date(ownEndMs).toISOString()}`);
  }
  if (ownTeam !== undefined && team !== undefined && team !== ownTeam) {
    deny("team", `this key is of the team ${ownTeam} and cannot make keys of another`);
  }
  return { name, kind, team: team ?? ownTeam, role, rights, expiresAtMs };
}

function refuseWider(parent: Rights, child: Rights): void {
  const { operations = OPERATIONS, extensions, minimumIsolation = "process" } = parent;
  const extraOperations = child.operations?.filter((one) => !operations.includes(one)) ?? [];
  if (extraOperations.length > 0) {
    deny("operations", `this key may not do ${extraOperations.join(", ")} itself`, { allowed: operations });
  }
  const extraExtensions = child.extensions?.filter((id) => extensions && !extensions.includes(id)) ?? [];
  if (extraExtensions.length > 0) {
    deny("extensions", `this key may not use ${extraExtensions.join(", ")} itself`, { allowed: extensions });
  }
  const { profiles } = parent;
  const extraProfiles = child.profiles?.filter((one) => profiles && !covers(profiles, one)) ?? [];
  if (extraProfiles.length > 0) {
    deny("profiles", `this key may not use ${extraProfiles.join(", ")} itself`, { allowed: profiles });
  }
  const { ruleSets } = parent;
  const open = new Set(ruleSets?.flatMap((name) => setsOf(name) ?? []));
  const extraSets = child.ruleSets?.filter(
    (name) => !setsOf(name)?.every((one) => !ruleSets || open.has(one)),
  );
  if (extraSets?.length) {
    deny("ruleSets", `this key may not open ${extraSets.join(", ")} itself`, { allowed: ruleSets });
  }
  if (child.minimumIsolation && !isAtLeast(child.minimumIsolation, minimumIsolation)) {
    deny("minimumIsolation", `this key needs ${minimumIsolation} itself`, { floor: minimumIsolation });
  }
  refuseMore("maximumTtlMs", child.maximumTtlMs, parent.maximumTtlMs);
  refuseMore("budgetMicroUsd", child.budgetMicroUsd, parent.budgetMicroUsd);
}

function refuseMore(rule: "maximumTtlMs" | "budgetMicroUsd", asked = 0, limit = Number.POSITIVE_INFINITY) {
  if (asked > limit) deny(rule, `${rule} ${asked} is beyond this key's own ${limit}`, { asked, limit });
}

function deny(rule: string, message: string, details: Record<string, unknown> = {}): never {
  throw new SandboxerError("policy_denied", message, { details: { rule, ...details } });
}
