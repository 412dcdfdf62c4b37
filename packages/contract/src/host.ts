/**
 * A host in the one spelling that the filter, the resolver, the dialler, the injector and the log
 * all use. What has no such spelling is no host: nothing is guessed, and nothing is repaired.
 */
export interface Host {
  readonly kind: "name" | "ipv4" | "ipv6";
  readonly text: string;
}

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const DECIMAL = /^(?:0|[1-9]\d{0,2})$/;
/** What a browser would read as a number, and so as an address. */
const NUMERIC = /^(?:\d+|0x[0-9a-f]*)$/;

/** Small letters, no dot at the end; an address only as four decimals, or as IPv6 is written. */
export function canonicalHost(spelling: string): Host | undefined {
  if (spelling.length > 255) return undefined;
  if (spelling.includes(":")) return ipv6(spelling);
  const text = spelling.toLowerCase().replace(/\.$/, "");
  const labels = text.split(".");
  if (text.length > 253 || !labels.every((label) => LABEL.test(label))) return undefined;
  if (!NUMERIC.test(labels.at(-1) as string)) return { kind: "name", text };
  const isAddress = labels.length === 4 && labels.every((part) => DECIMAL.test(part) && Number(part) < 256);
  return isAddress ? { kind: "ipv4", text } : undefined;
}

/** The platform's own parser gives the one short form. Zones and brackets are not part of a host. */
function ipv6(spelling: string): Host | undefined {
  if (!/^[0-9a-f:.]+$/i.test(spelling)) return undefined;
  try {
    return { kind: "ipv6", text: new URL(`http://[${spelling}]/`).hostname.slice(1, -1) };
  } catch {
    return undefined;
  }
}

/** Which hosts a rule means. An apex is its own pattern: `*.x.dev` does not cover `x.dev`. */
export type HostPattern =
  | { readonly depth: "exact"; readonly host: string }
  | { readonly depth: "one" | "any"; readonly suffix: string };

/** Below these, names belong to strangers. Not every such suffix, but those one is likely to type. */
const SHARED_SUFFIXES = new Set(
  [
    "ac.uk co.uk gov.uk org.uk net.uk me.uk ac.jp co.jp ne.jp or.jp com.au net.au org.au com.br net.br",
    "com.cn net.cn org.cn co.in net.in org.in co.kr or.kr co.nz org.nz co.za com.mx com.tr com.tw com.hk",
    "com.sg com.ar com.co com.ua com.pl co.il co.id co.th com.my com.vn in-addr.arpa ip6.arpa",
  ].flatMap((line) => line.split(" ")),
);

/** `undefined` for what is no pattern, or would cover what nobody can name: `*`, `*.com`, `*.co.uk`. */
export function parseHostPattern(text: string): HostPattern | undefined {
  const [, stars, rest = ""] = /^(\*{1,2})\.(.+)$/.exec(text) ?? [];
  if (stars === undefined) {
    const host = canonicalHost(text);
    return host && { depth: "exact", host: host.text };
  }
  const suffix = canonicalHost(rest);
  if (suffix?.kind !== "name" || !suffix.text.includes(".") || SHARED_SUFFIXES.has(suffix.text)) {
    return undefined;
  }
  return { depth: stars === "*" ? "one" : "any", suffix: suffix.text };
}
