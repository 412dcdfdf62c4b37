import { canonicalHost } from "@sandboxer/contract";
import { canonicalTarget, type Target } from "../policy/path.ts";
import { bad, type Head, valuesOf } from "./head.ts";

export interface Place {
  readonly host: string;
  readonly port: number;
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

/** `host[:port]`, in its one spelling. */
function parseAuthority(text: string, scheme: "http" | "https"): Place {
  const [, name, digits] = /^(\[[0-9a-fA-F:.]+\]|[^\s:@/\\]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = canonicalHost((name ?? "").replace(/^\[|\]$/g, ""));
  const port = digits === undefined ? DEFAULT_PORTS[scheme] : Number(digits);
  if (!host || port < 1 || port > 65_535) return bad("a host that is none");
  return { host: host.text, port };
}

/** Where a request goes and what it asks for there. Host and target have to agree. */
export function destinationOf(head: Head, scheme: "http" | "https", known?: Place): Place & Target {
  const hosts = valuesOf(head, "host");
  if (hosts.length !== 1) bad("not exactly one host");
  const said = parseAuthority(hosts[0] as string, scheme);
  if (known) {
    if (said.host !== known.host || said.port !== known.port) bad("a host that is not the one asked for");
    return { ...known, ...(canonicalTarget(head.target) ?? bad("a target that can be read in two ways")) };
  }
  // To a proxy: the target itself says where, and the header has to say the same.
  const [, authority = "", rest = ""] =
    /^http:\/\/([^/?#]+)(.*)$/.exec(head.target) ?? bad("no target of a proxy");
  const place = parseAuthority(authority, "http");
  if (said.host !== place.host || said.port !== place.port) bad("a host that is not the target's");
  const target = canonicalTarget(rest.startsWith("/") ? rest : `/${rest}`);
  return { ...place, ...(target ?? bad("a target that can be read in two ways")) };
}
