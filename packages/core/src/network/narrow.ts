import {
  type ByteBudget,
  type GuardedNetwork,
  type Network,
  type NetworkRule,
  type Rights,
  SandboxerError,
} from "@sandboxer/contract";
import { canonicalJson } from "../events/chain.ts";
import { beyond, LISTS } from "../policy/covers.ts";
import { withinCapabilities } from "./capabilities.ts";
import { expandNetwork } from "./expand.ts";
import { setsOf } from "./rule-sets.ts";

/** Each lets more through than the one before. */
const MODES: readonly GuardedNetwork["mode"][] = ["enforce", "ask", "audit"];

/**
 * What is asked, if it stays within the profile's ways out: the same rules or fewer, sets of its
 * sets, and as many more denials as anybody likes. `granted` are rules that somebody added to one
 * sandbox by approving them. Pure.
 */
export function narrowNetwork(
  own: Network | undefined,
  asked: Network | undefined,
  granted: readonly NetworkRule[] = [],
): Network | undefined {
  if (!own || !asked || asked.egress === "deny") return asked ?? own;
  if (own.egress === "deny") return deny("profile.network", "its network is all off");
  const known = new Set([...own.rules, ...granted].map((rule) => canonicalJson(rule)));
  const other = asked.rules.find((rule) => rule.effect !== "deny" && !known.has(canonicalJson(rule)));
  if (other) deny("profile.network", `it does not allow ${other.host} in this way`);
  const kept = new Set(own.sets.flatMap((name) => setsOf(name) ?? []));
  const extra = asked.sets.filter((name) => !(setsOf(name) ?? [name]).every((one) => kept.has(one)));
  if (extra.length > 0) deny("profile.network", `it does not have the sets ${extra.join(", ")}`);
  if (MODES.indexOf(asked.mode) > MODES.indexOf(own.mode)) {
    deny("profile.network", `what no rule speaks of is its to say: ${own.mode}`);
  }
  // What the profile denies stays denied, whatever is left out of the request.
  const denials = own.rules.filter((rule) => rule.effect === "deny");
  const said = new Set(asked.rules.map((rule) => canonicalJson(rule)));
  const missing = denials.filter((rule) => !said.has(canonicalJson(rule)));
  const dlp = own.dlp ?? asked.dlp;
  const budget = narrowerBudget(own.budget, asked.budget);
  const denied = own.denied ?? asked.denied;
  const limits = { ...(dlp && { dlp }), ...(budget && { budget }), ...(denied && { denied }) };
  return { ...asked, rules: [...asked.rules, ...missing], ...limits };
}

/** Whichever is less, each way. */
function narrowerBudget(own: ByteBudget | undefined, asked: ByteBudget | undefined): ByteBudget | undefined {
  if (!own || !asked) return own ?? asked;
  const least = (way: keyof ByteBudget) => {
    const said = [own[way], asked[way]].filter((bytes) => bytes !== undefined);
    return said.length > 0 ? { [way]: Math.min(...said) } : {};
  };
  return { ...least("upBytes"), ...least("downBytes") };
}

/** What a link lists is the most that may be reached through it. Pure. */
export function authorizeNetwork(chain: readonly Rights[], network: Network): Network {
  if (network.egress === "deny") return network;
  const { rules } = expandNetwork(network);
  let allowed = network;
  for (const { network: most, capabilities } of chain) {
    if (most) refuseBeyond(most, network.mode, rules);
    if (capabilities) allowed = withinCapabilities(capabilities, allowed, rules);
  }
  return allowed;
}

const DEFAULT_PORT = { https: 443, http: 80, tcp: 0 } as const;

function refuseBeyond(most: string[], mode: GuardedNetwork["mode"], rules: readonly NetworkRule[]): void {
  const wanted = rules
    .filter(({ effect }) => effect !== "deny")
    .flatMap(({ host, ports, protocol }) =>
      (ports ?? [DEFAULT_PORT[protocol]]).map((port) => `${host.toLowerCase().replace(/\.$/, "")}:${port}`),
    );
  const extra = beyond(LISTS.network, most, wanted);
  const details = { allowed: most };
  if (extra.length > 0) deny("network", `this key may not reach ${extra.slice(0, 5).join(", ")}`, details);
  if (mode === "audit") deny("network", "this key may not let through what no rule allows", details);
}

function deny(rule: string, message: string, details: Record<string, unknown> = {}): never {
  throw new SandboxerError("policy_denied", `network: ${message}`, {
    details: { rule, ...details },
    hint: "Ask for less, or ask somebody who may give more.",
  });
}
