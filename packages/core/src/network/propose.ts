import type { NetworkCall, NetworkRule } from "@sandboxer/contract";

/** As much of an attempt as a rule can be made of. */
type Tried = Pick<NetworkCall, "verdict" | "host" | "port" | "rule" | "method">;

/**
 * The rules that would have allowed what was not: one for each place, as narrow as the call shows.
 * A person reads them before they become rules. Pure.
 */
export function proposeRules(calls: readonly Tried[]): NetworkRule[] {
  const places = new Map<string, NetworkRule>();
  for (const call of calls) {
    if (call.verdict !== "denied" && call.verdict !== "audited") continue;
    if (call.host === undefined || call.rule !== undefined) continue;
    const protocol = call.port === 80 ? "http" : call.port === 443 || call.method ? "https" : "tcp";
    const key = `${protocol} ${call.host} ${call.port}`;
    const known = places.get(key);
    const methods = new Set([...(known?.methods ?? []), ...(call.method ? [call.method] : [])]);
    const isUsual = (protocol === "https" && call.port === 443) || (protocol === "http" && call.port === 80);
    places.set(key, {
      effect: "allow",
      host: call.host,
      protocol,
      ...(!isUsual && { ports: [call.port] }),
      ...(methods.size > 0 && { methods: [...methods].sort() }),
    });
  }
  return [...places.values()];
}
