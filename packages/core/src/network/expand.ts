import { type GuardedNetwork, SandboxerError } from "@sandboxer/contract";
import { RULE_SET_NAMES, rulesOfSet, setsOf } from "./rule-sets.ts";

/** What the guard is told: rules alone, with the sets written out. Pure. */
export function expandNetwork({ sets, ...network }: GuardedNetwork): GuardedNetwork {
  const names = new Set(sets.flatMap((name) => setsOf(name) ?? unknown(name)));
  return { ...network, sets: [], rules: [...network.rules, ...[...names].flatMap(rulesOfSet)] };
}

function unknown(name: string): never {
  throw new SandboxerError("invalid_request", `network.sets: there is no set ${name}`, {
    hint: `There are: ${RULE_SET_NAMES.join(", ")}.`,
  });
}
