import {
  type GuardedNetwork,
  type Network,
  type NetworkRule,
  type Rights,
  SandboxerError,
} from "@sandboxer/contract";
import { effectiveRights } from "../policy/effective.ts";
import { RULE_SET_NAMES, rulesOfSet, setsOf } from "./rule-sets.ts";
import { isWithin } from "./within.ts";

/** What a key that has capabilities gets where nobody says anything of the network. */
export function defaultNetwork(chain: readonly Rights[]): Network | undefined {
  const { capabilities } = effectiveRights(chain);
  const sets = [...new Set(capabilities?.flatMap((name) => setsOf(name) ?? []))];
  return sets.length > 0 ? { egress: "guarded", mode: "enforce", rules: [], sets } : undefined;
}

/**
 * The network, if none of its rules goes beyond the link's capabilities. A rule that was taken out
 * of a set leaves none of that set's denials behind. Pure.
 */
export function withinCapabilities(
  capabilities: readonly string[],
  network: GuardedNetwork,
  expanded: readonly NetworkRule[],
): GuardedNetwork {
  const sets = capabilities.flatMap((name) => setsOf(name) ?? []);
  const own = sets.flatMap(rulesOrNone);
  const allowed = own.filter(({ effect }) => effect === "allow");
  const extra = expanded.filter(
    (rule) => rule.effect !== "deny" && !allowed.some((one) => isWithin(rule, one)),
  );
  if (extra.length > 0 || network.mode === "audit") {
    const what =
      extra
        .map(({ host }) => host)
        .slice(0, 5)
        .join(", ") || "what no rule allows";
    throw new SandboxerError("policy_denied", `network: this key's capabilities do not have ${what}`, {
      details: { rule: "capabilities", allowed: capabilities },
      hint: "Ask for sets of its capabilities, or ask somebody who may give more.",
    });
  }
  const known = new Set(network.rules.map(({ id }) => id));
  const denials = own.filter(({ effect, id }) => effect === "deny" && !known.has(id));
  return network.rules.length === 0 ? network : { ...network, rules: [...network.rules, ...denials] };
}

/** Of a set whose hosts nobody has named there are none. */
function rulesOrNone(set: string): NetworkRule[] {
  try {
    return rulesOfSet(set);
  } catch {
    return [];
  }
}

/** Before a key gets them: a name that means nothing would look like a right, and be none. */
export function refuseUnknownCapabilities(names: readonly string[] = []): void {
  const unknown = names.find((name) => setsOf(name) === undefined);
  if (unknown === undefined) return;
  throw new SandboxerError("invalid_request", `capabilities: there is no ${unknown}`, {
    hint: `There are: ${RULE_SET_NAMES.join(", ")}.`,
  });
}
