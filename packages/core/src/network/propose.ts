import type { NetworkCall, NetworkRule } from "@sandboxer/contract";
import { isWithin } from "./within.ts";

/** As much of an attempt as a rule can be made of. */
type Tried = Pick<NetworkCall, "verdict" | "host" | "port" | "rule" | "method" | "scheme" | "cure">;

/**
 * The rules that would have allowed what was not: one for each place, as narrow as the call shows,
 * and none that is there by now. A person reads them before they become rules. Pure.
 */
export function proposeRules(calls: readonly Tried[], present: readonly NetworkRule[] = []): NetworkRule[] {
  const places = new Map<string, NetworkRule>();
  const hopeless = new Set(calls.filter(({ cure }) => cure === "none").map(placeOf));
  for (const call of calls) {
    if (call.verdict !== "denied" && call.verdict !== "audited") continue;
    const network = typeof call.cure === "object" ? [call.cure.cidr] : [];
    // What a rule decided needs no other, unless it is one that names the network too.
    if (call.host === undefined || hopeless.has(placeOf(call))) continue;
    if (call.rule !== undefined && network.length === 0) continue;
    const protocol = call.scheme ?? (call.port === 80 ? "http" : call.port === 443 ? "https" : "tcp");
    const key = `${protocol} ${call.host} ${call.port}`;
    const known = places.get(key);
    const methods = new Set([...(known?.methods ?? []), ...(call.method ? [call.method] : [])]);
    const cidrs = [...new Set([...(known?.cidrs ?? []), ...network])].sort();
    const isUsual = (protocol === "https" && call.port === 443) || (protocol === "http" && call.port === 80);
    places.set(key, {
      effect: "allow",
      host: call.host,
      protocol,
      ...(!isUsual && { ports: [call.port] }),
      ...(methods.size > 0 && { methods: [...methods].sort() }),
      ...(cidrs.length > 0 && { cidrs }),
    });
  }
  return [...places.values()].filter((rule) => !present.some((one) => isThere(rule, one)));
}

const placeOf = ({ host, port }: Tried): string => `${host} ${port}`;

function isThere({ cidrs = [], ...rule }: NetworkRule, present: NetworkRule): boolean {
  const isNamed = cidrs.every((cidr) => present.cidrs?.includes(cidr));
  return present.effect !== "deny" && isNamed && isWithin(rule, present);
}
