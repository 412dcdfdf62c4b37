import {
  type CreateKeyBody,
  createKeyBodySchema,
  isAtLeast,
  type Principal,
  type Rights,
  ROLES,
  SandboxerError,
} from "@sandboxer/contract";
import { refuseUnknownCapabilities } from "../network/capabilities.ts";
import { parse } from "../parse.ts";
import { beyond, LIST_RULES, LISTS } from "./covers.ts";
import { effectiveRights } from "./effective.ts";

/**
 * What a child key of this principal will be. Never wider than its parent: asking for more is
 * refused and names the rule, so that nobody believes in a right that the chain takes away.
 */
export function delegate(principal: Principal, body: CreateKeyBody, nowMs: number) {
  const { name, kind, team, role, expiresAtMs, identity, ...asked } = parse(createKeyBodySchema, body);
  if (role && asked.operations) {
    throw new SandboxerError("invalid_request", "role: give a role or operations, not both");
  }
  const rights: Rights = { ...asked, ...(role && { operations: [...ROLES[role]] }) };
  refuseUnknownCapabilities(rights.capabilities);
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
  return { name, kind, team: team ?? ownTeam, role, rights, expiresAtMs, identity };
}

/** Asking for more than the parent's own is refused and names the rule. */
export function refuseWider(parent: Rights, child: Rights): void {
  for (const rule of LIST_RULES) {
    const extra = beyond(LISTS[rule], parent[rule], child[rule]);
    const verb = rule === "operations" ? "do" : "use";
    if (extra.length > 0) {
      deny(rule, `this key may not ${verb} ${extra.join(", ")} itself`, { allowed: parent[rule] });
    }
  }
  if (parent.access === "read-only" && child.access === "read-write") {
    deny("access", "this key itself may only read");
  }
  const { minimumIsolation = "process" } = parent;
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
