import { isIP, isIPv4 } from "node:net";
import { canonicalHost, type NetworkRule, SandboxerError } from "@sandboxer/contract";
import { reachOf } from "@sandboxer/egress";

/** As for a name: what is spoken on them is not read, since TLS to an address says no name. */
const PORTS = [80, 443];

/**
 * An address of the open internet, alone or as a network of one; nothing where it is a name. Rules
 * are by name here, and an address is the name of itself; a network of many is none.
 */
export function addressOf(place: string): string | undefined {
  const [net = "", prefix] = place.split("/");
  if (!isIP(net)) return undefined;
  const refuse = (why: string) =>
    new SandboxerError("invalid_request", `allowOut: ${place} ${why}`, {
      hint: "Allow names, single addresses of the open internet, or everything (0.0.0.0/0).",
    });
  if (prefix !== undefined && prefix !== (isIPv4(net) ? "32" : "128")) throw refuse("is a whole network");
  if (reachOf(net) !== "open") throw refuse("is no address of the open internet");
  return canonicalHost(net)?.text;
}

export function addressRule(host: string): Pick<NetworkRule, "host" | "protocol" | "ports"> {
  return { host, protocol: "tcp", ports: PORTS };
}
