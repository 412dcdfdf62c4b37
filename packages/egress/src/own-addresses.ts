import { openSync, readSync } from "node:fs";
import { BlockList } from "node:net";

/** Each way this machine delivers to itself: `|-- 10.0.0.5`, and below it `/32 host LOCAL`. */
const LOCAL_V4 = /\|-- (\S+)((?:\n\s+\/.*)+)/g;
const LOCAL_PREFIX = /\/(\d+) \S+ LOCAL/g;

/** What the kernel said last, and what that means. */
let known = { v4: "", v6: "", own: new BlockList() };

/**
 * What the kernel takes as this machine's own. It is asked itself, each time: a list of interfaces
 * leaves out those without a carrier, whose addresses answer all the same.
 */
export function ownAddresses(): BlockList {
  const [v4, v6] = [read("fib_trie"), read("if_inet6")];
  if (v4 !== known.v4 || v6 !== known.v6) known = { v4, v6, own: parse(v4, v6) };
  return known.own;
}

function parse(v4: string, v6: string): BlockList {
  const own = new BlockList();
  for (const [, address = "", below = ""] of v4.matchAll(LOCAL_V4)) {
    for (const [, prefix] of below.matchAll(LOCAL_PREFIX)) own.addSubnet(address, Number(prefix), "ipv4");
  }
  for (const line of v6.split("\n")) {
    const groups = line.slice(0, 32).match(/[0-9a-f]{4}/g);
    if (groups?.length === 8) own.addAddress(groups.join(":"), "ipv6");
  }
  return own;
}

type Table = "fib_trie" | "if_inet6";

/** Kept open, which is what costs most; whoever reads one from its beginning reads what is true now. */
const tables = new Map<Table, number>();
const room = Buffer.allocUnsafeSlow(65_536);

/** A kernel without IPv6 has no file for it; one without IPv4 routes does not exist. */
function read(table: Table): string {
  try {
    return readAll(opened(table));
  } catch (error) {
    if (table === "if_inet6" && (error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

function opened(table: Table): number {
  const file = tables.get(table) ?? openSync(`/proc/self/net/${table}`, "r");
  tables.set(table, file);
  return file;
}

/** The kernel gives as much at a time as it likes. */
function readAll(file: number): string {
  let text = "";
  for (let at = 0; ; ) {
    const count = readSync(file, room, 0, room.length, at);
    if (count === 0) return text;
    text += room.toString("latin1", 0, count);
    at += count;
  }
}
