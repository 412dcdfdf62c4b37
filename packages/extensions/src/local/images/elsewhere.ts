import { BlockList, isIP, type LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { SandboxerError } from "@sandboxer/contract";

/** Networks that no stranger leads us into. */
const INSIDE_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;
const inside = new BlockList();
for (const [net, prefix] of INSIDE_V4) inside.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of [
  ["2001::", 23],
  ["2002::", 16],
] as const)
  inside.addSubnet(net, prefix, "ipv6");
const global = new BlockList();
global.addSubnet("2000::", 3, "ipv6");

function isOpen(address: string): boolean {
  if (isIP(address) === 4) return !inside.check(address, "ipv4");
  return isIP(address) === 6 && global.check(address, "ipv6") && !inside.check(address, "ipv6");
}

/** Looks up once; a name with one foot inside is a trap, and what was judged is what is dialled. */
const lookUpOpen: LookupFunction = (hostname, { all }, done) => {
  const { lookup } = process.getBuiltinModule("node:dns");
  lookup(hostname, { all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error || !first) return done(error ?? new Error("it has no address"), "", 0);
    if (!addresses.every(({ address }) => isOpen(address))) return done(ledInside(hostname), "", 0);
    if (all) done(null, addresses);
    else done(null, first.address, first.family);
  });
};

/** Asks somebody whom a registry has led us to, if they are on the open internet. */
export function askElsewhere(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  const literal = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(literal) && !isOpen(literal)) return Promise.reject(ledInside(url.hostname));
  return new Promise((resolve, reject) => {
    // Only now: most who load this pull nothing.
    const { request: send } = process.getBuiltinModule(
      url.protocol === "https:" ? "node:https" : "node:http",
    );
    const outgoing = send(url, { headers, signal, lookup: lookUpOpen, agent: false });
    outgoing.once("error", reject);
    outgoing.once("response", (incoming) => {
      const { statusCode: status = 502, headers: said } = incoming;
      const told = Object.entries(said).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as [string, string]],
      );
      const isBare = [204, 205, 304].includes(status);
      if (isBare) incoming.resume();
      const body = isBare ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
      resolve(new Response(body, { status, headers: told }));
    });
    outgoing.end();
  });
}

function ledInside(host: string): SandboxerError {
  return new SandboxerError("policy_denied", `the registry leads to ${host}, which is inside a network`, {
    details: { rule: "images.registries" },
    hint: "If that is meant, the operator names it in images.registries.",
  });
}
