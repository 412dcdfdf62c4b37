import type { Network, NetworkRule } from "@sandboxer/contract";

const MARK = "approved/";

/** What a rule is called that somebody added to one sandbox by a yes. */
export const grantedId = (approvalId: string): string => `${MARK}${approvalId}`;

export const isGranted = ({ id }: NetworkRule): boolean => id?.startsWith(MARK) ?? false;

/** For what is made after a sandbox: nobody has said yes to that. */
export function withoutGranted(network: Network): Network {
  if (network.egress === "deny") return network;
  return { ...network, rules: network.rules.filter((rule) => !isGranted(rule)) };
}
