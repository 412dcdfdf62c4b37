import { BlockList, isIP } from "node:net";
import { type AddressReach, reachOfAddress } from "@sandboxer/contract";
import { ownAddresses } from "./own-addresses.ts";

/** `own` are addresses of this machine, which are inside whatever network they are in. */
export function reachOf(address: string, own: BlockList = ownAddresses()): AddressReach {
  const reach = reachOfAddress(address);
  if (reach !== "open") return reach;
  return own.check(address, isIP(address) === 4 ? "ipv4" : "ipv6") ? "inside" : "open";
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
