import { isIPv4, isIPv6 } from "node:net";

/** What never leaves this machine: all of 127.0.0.0/8, and IPv6's one, however it is written. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith("127.");
  if (isIPv6(host)) return !host.includes("%") && new URL(`http://[${host}]`).hostname === "[::1]";
  return host.toLowerCase() === "localhost";
}
