import {
  type CreateBody,
  isAtLeast,
  networkSchema,
  type Profile,
  type Resources,
  SandboxerError,
  WORKSPACE_REACH,
  workspaceSchema,
} from "@sandboxer/contract";
import { canonicalJson } from "../events/chain.ts";
import { narrowNetwork } from "../network/narrow.ts";
import { parse } from "../parse.ts";

/**
 * The request with everything its profile says. Pure. What the request says narrows the profile or
 * is refused; nothing it says is quietly dropped.
 */
export function narrowToProfile(profile: Profile, body: CreateBody): CreateBody {
  const { isolation, extensions, ttlMs, maximumTtlMs, budgetMicroUsd } = profile;
  if (isolation && body.isolation && !isAtLeast(body.isolation, isolation)) {
    deny("isolation", `${body.isolation} is weaker than its ${isolation}`);
  }
  if (profile.root === "denied" && body.root === "allowed") deny("root", "its sandboxes have no root");
  refuseFurther(profile.workspace, body.workspace);
  refuseUnasked(profile.approvals, body.workspace);
  const extra = body.extensions?.filter((id) => extensions && !extensions.includes(id)) ?? [];
  if (extra.length > 0) deny("extensions", `it does not run on ${extra.join(", ")}`);
  const asked = body.network && parse(networkSchema, body.network);
  return {
    ...body,
    ...same("image", profile.image, body.image),
    ...same("from", profile.from, body.from),
    ...same("persistence", profile.persistence, body.persistence),
    ...same("atEnd", profile.atEnd, body.atEnd),
    ...either("keepMs", profile.keepMs, atMost("keepMs", profile.keepMs, body.keepMs)),
    ...either("isolation", isolation, body.isolation),
    ...either("root", profile.root, body.root),
    ...either("extensions", extensions && [...extensions], body.extensions),
    ...either("ttlMs", ttlMs ?? maximumTtlMs, atMost("ttlMs", maximumTtlMs ?? ttlMs, body.ttlMs)),
    ...either(
      "budgetMicroUsd",
      budgetMicroUsd,
      atMost("budgetMicroUsd", budgetMicroUsd, body.budgetMicroUsd),
    ),
    ...either("network", undefined, narrowNetwork(profile.network, asked)),
    ...either("secrets", profile.secrets, fewerSecrets(profile.secrets, body.secrets)),
    ...either("approvals", profile.approvals, moreApprovals(profile.approvals, body.approvals)),
    ...either("limits", profile.limits, notBelow(profile.limits, body.limits)),
    ...same("retain", profile.retain, body.retain),
    ...either("idleMs", profile.idleMs, atMost("idleMs", profile.idleMs, body.idleMs)),
    ...either("facets", profile.facets, body.facets && [...(profile.facets ?? []), ...body.facets]),
    ...either("setup", profile.setup, body.setup && [...(profile.setup ?? []), ...body.setup]),
    ...either("verify", profile.verify, body.verify && [...(profile.verify ?? []), ...body.verify]),
    ...same("runbook", profile.runbook, body.runbook),
    ...reusedAs(profile.scope, body.reuse),
    resources: narrowResources(profile.resources, body.resources),
    env: merged("env", profile.env, body.env),
    labels: merged("labels", profile.labels, body.labels),
    routing: narrowRouting(profile.routing, body.routing),
  };
}

/** A folder of the host is never more than the profile lets a sandbox have of one. */
function refuseFurther(most: Profile["workspace"], asked: CreateBody["workspace"]): void {
  if (most === undefined || asked === undefined) return;
  const { mode } = parse(workspaceSchema, asked);
  if (WORKSPACE_REACH.indexOf(mode) <= WORKSPACE_REACH.indexOf(most)) return;
  deny("workspace", most === "none" ? "its sandboxes have none" : `${mode} is more than its ${most}`);
}

/** Where somebody decides about what comes back to the host, nothing comes back by itself. */
function refuseUnasked(marked: Profile["approvals"], asked: CreateBody["workspace"]): void {
  if (!marked?.includes("workspace.apply") || asked === undefined) return;
  const { mode } = parse(workspaceSchema, asked);
  if (mode === "mirror" || mode === "read-write") {
    deny("approvals", `somebody decides about what is applied, and ${mode} asks nobody`);
  }
}

function narrowResources(profile: Resources = {}, asked: Resources = {}): Resources {
  for (const [name, value] of Object.entries(asked)) {
    atMost(`resources.${name}`, profile[name as keyof Resources], value);
  }
  return { ...profile, ...asked };
}

function narrowRouting(profile: Profile["routing"] = {}, asked: Profile["routing"] = {}) {
  const { maximumMicroUsdPerHour: ceiling } = profile;
  const price = atMost("maximumMicroUsdPerHour", ceiling, asked.maximumMicroUsdPerHour);
  return {
    ...same("policy", profile.policy, asked.policy),
    ...either("maximumMicroUsdPerHour", ceiling, price),
  };
}

function fewerSecrets(own: string[] = [], asked: string[] | undefined): string[] | undefined {
  const extra = asked?.filter((name) => !own.includes(name)) ?? [];
  if (extra.length > 0) deny("secrets", `it does not have the secrets ${extra.join(", ")}`);
  return asked;
}

function moreApprovals(own: Profile["approvals"] = [], asked: Profile["approvals"]): Profile["approvals"] {
  return asked && [...new Set([...own, ...asked])];
}

function notBelow(own: Profile["limits"], asked: Profile["limits"]): Profile["limits"] {
  if (own === "required" && asked === "best-effort") deny("limits", "its limits are required");
  return asked;
}

function reusedAs(scope: Profile["scope"], reuse: CreateBody["reuse"]) {
  if (scope && reuse && reuse.scope !== scope)
    deny("scope", `it is reused by ${scope}, not by ${reuse.scope}`);
  return reuse ? { reuse } : {};
}

function either<K extends string, T>(name: K, own: T | undefined, asked: T | undefined) {
  const value = asked ?? own;
  return (value === undefined ? {} : { [name]: value }) as { [P in K]?: T };
}

function same<K extends string, T>(name: K, own: T | undefined, asked: T | undefined) {
  if (own !== undefined && asked !== undefined && canonicalJson(own) !== canonicalJson(asked)) {
    deny(name, `its ${name} cannot be changed`);
  }
  return either(name, own, asked);
}

function atMost(name: string, limit: number | undefined, asked: number | undefined): number | undefined {
  if (asked !== undefined && asked > (limit ?? asked)) deny(name, `${name} ${asked} is beyond its ${limit}`);
  return asked;
}

/** Adding is narrower than changing: what the profile set stays as it set it. */
function merged(name: string, own: Record<string, string> = {}, asked: Record<string, string> = {}) {
  const changed = Object.keys(asked).filter((key) => Object.hasOwn(own, key) && own[key] !== asked[key]);
  if (changed.length > 0) deny(name, `its ${name} ${changed.join(", ")} cannot be changed`);
  return { ...own, ...asked };
}

function deny(rule: string, message: string): never {
  throw new SandboxerError("policy_denied", `wider than the profile: ${message}`, {
    details: { rule: `profile.${rule}` },
    hint: "Ask for less, or use another profile.",
  });
}
