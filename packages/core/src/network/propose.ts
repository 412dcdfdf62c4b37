import type { NetworkCall, NetworkRule } from "@sandboxer/contract";

/** As much of an attempt as a rule can be made of. */
type Tried = Pick<NetworkCall, "verdict" | "host" | "port" | "rule" | "method" | "cure">;

/**
 * The rules that would have allowed what was not: one for each place, as narrow as the call shows.
 * A person reads them before they become rules. Pure.
 */
export function proposeRules(calls: readonly Tried[]): NetworkRule[] {
  const places = new Map<string, NetworkRule>();
  for (const call of calls) {
    if (call.verdict !== "denied" && call.verdict !== "audited") continue;
    const network = typeof call.cure === "object" ? [call.cure.cidr] : [];
    // What a rule decided needs no other, unless it is one that names the network too.
    if (call.host === undefined || call.cure === "none") continue;
    if (call.rule !== undefined && network.length === 0) continue;
    const protocol = call.port === 80 ? "http" : call.port === 443 || call.method ? "https" : "tcp";
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
  return [...places.values()];
}
