import { readFileSync } from "node:fs";
import { BlockList } from "node:net";

/** Each way this machine delivers to itself: `|-- 10.0.0.5`, and below it `/32 host LOCAL`. */
const LOCAL_V4 = /\|-- (\S+)((?:\n\s+\/.*)+)/g;
const LOCAL_PREFIX = /\/(\d+) \S+ LOCAL/g;

/**
 * What the kernel takes as this machine's own. It is asked itself: a list of interfaces leaves out
 * those without a carrier, whose addresses answer all the same.
 */
export function ownAddresses(): BlockList {
  const own = new BlockList();
  for (const [, address = "", below = ""] of read("fib_trie").matchAll(LOCAL_V4)) {
    for (const [, prefix] of below.matchAll(LOCAL_PREFIX)) own.addSubnet(address, Number(prefix), "ipv4");
  }
  for (const line of read("if_inet6").split("\n")) {
    const groups = line.slice(0, 32).match(/[0-9a-f]{4}/g);
    if (groups?.length === 8) own.addAddress(groups.join(":"), "ipv6");
  }
  return own;
}

/** A kernel without IPv6 has no file for it; one without IPv4 routes does not exist. */
function read(table: "fib_trie" | "if_inet6"): string {
  try {
    return readFileSync(`/proc/self/net/${table}`, "latin1");
  } catch (error) {
    if (table === "if_inet6" && (error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
