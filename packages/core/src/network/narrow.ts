import { type GuardedNetwork, type Network, type Rights, SandboxerError } from "@sandboxer/contract";
import { canonicalJson } from "../events/chain.ts";
import { expandNetwork } from "./expand.ts";
import { setsOf } from "./rule-sets.ts";

/**
 * What is asked, if it stays within the profile's ways out: the same rules or fewer, sets of its
 * sets, and as many more denials as anybody likes. Pure.
 */
export function narrowNetwork(own: Network | undefined, asked: Network | undefined): Network | undefined {
  if (!own || !asked || asked.egress === "deny") return asked ?? own;
  if (own.egress === "deny") return deny("profile.network", "its network is all off");
  const known = new Set(own.rules.map((rule) => canonicalJson(rule)));
  const other = asked.rules.find((rule) => rule.effect === "allow" && !known.has(canonicalJson(rule)));
  if (other) deny("profile.network", `it does not allow ${other.host} in this way`);
  const kept = new Set(own.sets.flatMap((name) => setsOf(name) ?? []));
  const extra = asked.sets.filter((name) => !(setsOf(name) ?? [name]).every((one) => kept.has(one)));
  if (extra.length > 0) deny("profile.network", `it does not have the sets ${extra.join(", ")}`);
  if (asked.mode === "audit" && own.mode !== "audit") deny("profile.network", "it enforces its rules");
  // What the profile denies stays denied, whatever is left out of the request.
  const denials = own.rules.filter((rule) => rule.effect === "deny");
  const said = new Set(asked.rules.map((rule) => canonicalJson(rule)));
  const missing = denials.filter((rule) => !said.has(canonicalJson(rule)));
  return { ...asked, rules: [...asked.rules, ...missing] };
}

/** A link that lists rule sets allows those and nothing else. Pure. */
export function authorizeNetwork(chain: readonly Rights[], network: Network): Network {
  if (network.egress === "deny") return network;
  // Also says which set does not exist.
  expandNetwork(network);
  for (const { ruleSets } of chain) if (ruleSets) refuseOutside(ruleSets, network);
  return network;
}

function refuseOutside(ruleSets: readonly string[], { sets, rules, mode }: GuardedNetwork): void {
  const allowed = new Set(ruleSets.flatMap((name) => setsOf(name) ?? []));
  const extra = sets.filter((name) => !(setsOf(name) ?? [name]).every((one) => allowed.has(one)));
  const details = { allowed: ruleSets };
  if (extra.length > 0) deny("ruleSets", `this key may not open ${extra.join(", ")}`, details);
  if (rules.some(({ effect }) => effect === "allow")) {
    deny(
      "ruleSets",
      `this key may open ${ruleSets.join(", ") || "nothing"}, and no hosts of its own`,
      details,
    );
  }
  if (mode === "audit") deny("ruleSets", "this key may not let through what no rule allows", details);
}

function deny(rule: string, message: string, details: Record<string, unknown> = {}): never {
  throw new SandboxerError("policy_denied", `network: ${message}`, {
    details: { rule, ...details },
    hint: "Ask for less, or ask somebody who may give more.",
  });
}
