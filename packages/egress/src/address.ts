import { BlockList, isIP } from "node:net";
import { ownAddresses } from "./own-addresses.ts";

/** What no rule can open: this machine itself, the link it is on, clouds' credentials, everybody. */
const NEVER_V4 = [
  ["0.0.0.0", 8],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["100.100.100.200", 32],
  ["168.63.129.16", 32],
  ["192.0.0.0", 24],
  ["192.88.99.0", 24],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;
const PRIVATE_V4 = [
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["172.16.0.0", 12],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
] as const;
/** Of IPv6 only what is global unicast, and of that nothing that holds an IPv4 address. */
const GLOBAL_V6 = ["2000::", 3] as const;
const NEVER_V6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
  ["fd00:ec2::", 32],
  ["fd20:ce::", 32],
  ["fd00:c1::", 32],
  ["fd00:42::", 32],
] as const;
const PRIVATE_V6 = ["fc00::", 7] as const;

const never = listOf(NEVER_V4, NEVER_V6);
const inside = listOf(PRIVATE_V4, [PRIVATE_V6]);
const globalV6 = listOf([], [GLOBAL_V6]);
const privateV6 = listOf([], [PRIVATE_V6]);

/** `inside`: only where a rule names its network. `never`: not even then. */
export type Reach = "open" | "inside" | "never";

/** `own` are addresses of this machine, whatever network they are in. */
export function reachOf(address: string, own: BlockList = ownAddresses()): Reach {
  const family = isIP(address);
  const kind = family === 4 ? "ipv4" : "ipv6";
  if (family === 0 || address.includes("%") || never.check(address, kind)) return "never";
  // Also when it is an address of this machine's own, as ::1 is.
  if (family === 6 && !globalV6.check(address, kind) && !privateV6.check(address, kind)) return "never";
  return inside.check(address, kind) || own.check(address, kind) ? "inside" : "open";
}

/** Whether this address may be dialled by a rule that names these networks. */
export function mayDial(address: string, cidrs: readonly string[], own?: BlockList): boolean {
  const reach = reachOf(address, own);
  return reach === "open" || (reach === "inside" && cidrs.some((cidr) => contains(cidr, address)));
}

function contains(cidr: string, address: string): boolean {
  const [net = "", prefix] = cidr.split("/");
  const [family, ours] = [isIP(net), isIP(address)];
  if (family === 0 || family !== ours) return false;
  const list = new BlockList();
  list.addSubnet(net, Number(prefix), family === 4 ? "ipv4" : "ipv6");
  return list.check(address, family === 4 ? "ipv4" : "ipv6");
}

type Nets = readonly (readonly [string, number])[];

function listOf(v4: Nets, v6: Nets): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of v4) list.addSubnet(net, prefix, "ipv4");
  for (const [net, prefix] of v6) list.addSubnet(net, prefix, "ipv6");
  return list;
}
