import { canonicalHost } from "./host.ts";

type Net = readonly [net: string, prefix: number];

/** What nobody is led to: this machine itself, the link it is on, clouds' credentials, everybody. */
const NEVER_V4: readonly Net[] = [
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
];
const INSIDE_V4: readonly Net[] = [
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["172.16.0.0", 12],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
];
/** Tunnels to IPv4, benchmarks, documentation, clouds' credentials. */
const NEVER_V6: readonly Net[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
  ["fd00:ec2::", 32],
  ["fd20:ce::", 32],
  ["fd00:c1::", 32],
  ["fd00:42::", 32],
];
const INSIDE_V6: readonly Net[] = [["fc00::", 7]];
/** Of IPv6 nothing else is open: what holds an IPv4 address would be judged by other rules. */
const GLOBAL_V6: Net = ["2000::", 3];

/** `inside` a network, where only who means it goes; `never`, where nobody does. */
export type AddressReach = "open" | "inside" | "never";

/** Where an address is, by itself; whether it is this machine's own is not its to say. Pure. */
export function reachOfAddress(address: string): AddressReach {
  const host = canonicalHost(address);
  if (!host || host.kind === "name") return "never";
  const [bits, never, inside] =
    host.kind === "ipv4"
      ? ([bitsOfV4(host.text), NEVER_V4_BITS, INSIDE_V4_BITS] as const)
      : ([bitsOfV6(host.text), NEVER_V6_BITS, INSIDE_V6_BITS] as const);
  const isIn = (net: string) => bits.startsWith(net);
  if (never.some(isIn)) return "never";
  if (inside.some(isIn)) return "inside";
  return host.kind === "ipv4" || isIn(GLOBAL_V6_BITS) ? "open" : "never";
}

/** An address of the open internet. */
export const isOpenAddress = (address: string): boolean => reachOfAddress(address) === "open";

const bitsOf = (numbers: readonly number[], each: number): string =>
  numbers.map((number) => number.toString(2).padStart(each, "0")).join("");

const bitsOfV4 = (text: string): string => bitsOf(text.split(".").map(Number), 8);

/** Of the one short form. */
function bitsOfV6(text: string): string {
  const [before = [], after = []] = text
    .split("::")
    .map((part) => part.split(":").flatMap((group) => (group ? [Number.parseInt(group, 16)] : [])));
  const zeros = Array<number>(8 - before.length - after.length).fill(0);
  return bitsOf([...before, ...zeros, ...after], 16);
}

const NEVER_V4_BITS = NEVER_V4.map(([net, prefix]) => bitsOfV4(net).slice(0, prefix));
const INSIDE_V4_BITS = INSIDE_V4.map(([net, prefix]) => bitsOfV4(net).slice(0, prefix));
const NEVER_V6_BITS = NEVER_V6.map(([net, prefix]) => bitsOfV6(net).slice(0, prefix));
const INSIDE_V6_BITS = INSIDE_V6.map(([net, prefix]) => bitsOfV6(net).slice(0, prefix));
const GLOBAL_V6_BITS = bitsOfV6(GLOBAL_V6[0]).slice(0, GLOBAL_V6[1]);
