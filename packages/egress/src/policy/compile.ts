import { type GuardedNetwork, type NetworkRule, parseHostPattern } from "@sandboxer/contract";
import { compilePath, readingsOf } from "./path.ts";

export interface CompiledRule {
  readonly id: string;
  readonly effect: NetworkRule["effect"];
  readonly ports: ReadonlySet<number>;
  readonly protocol: NetworkRule["protocol"];
  readonly methods?: ReadonlySet<string>;
  readonly paths?: readonly RegExp[];
  readonly query?: Readonly<Record<string, string>>;
  readonly binaries?: readonly RegExp[];
  readonly cidrs: readonly string[];
  /** What it writes into requests. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it can be judged only with the request in sight. */
  readonly needsRequest: boolean;
  readonly inspect: boolean;
  /** Whoever goes by it pays from this. */
  readonly purse?: string;
}

/** Rules by host, so that a decision looks at few of them however many there are. */
export interface Policy {
  readonly mode: GuardedNetwork["mode"];
  readonly exact: ReadonlyMap<string, readonly CompiledRule[]>;
  readonly one: ReadonlyMap<string, readonly CompiledRule[]>;
  readonly any: ReadonlyMap<string, readonly CompiledRule[]>;
}

const DEFAULT_PORT = { https: 443, http: 80 } as const;
const READING = ["GET", "HEAD", "OPTIONS"];
const WRITING = [...READING, "POST", "PUT", "PATCH", "DELETE"];

/** A rule that cannot be understood is one that was checked by nobody: it throws, and nothing opens. */
export function compile({ mode, rules }: Pick<GuardedNetwork, "mode" | "rules">): Policy {
  const maps = { exact: new Map(), one: new Map(), any: new Map() } as const satisfies Record<
    string,
    Map<string, CompiledRule[]>
  >;
  for (const [index, rule] of rules.entries()) {
    const pattern = parseHostPattern(rule.host);
    if (!pattern) throw new Error(`rule ${index}: ${rule.host} is no host`);
    const key = pattern.depth === "exact" ? pattern.host : pattern.suffix;
    const map: Map<string, CompiledRule[]> = maps[pattern.depth];
    map.set(key, [...(map.get(key) ?? []), compileRule(rule, index)]);
  }
  return { mode, ...maps };
}

function compileRule(rule: NetworkRule, index: number): CompiledRule {
  const { id = `rule-${index + 1}`, effect, protocol, ports, access, methods, paths, query } = rule;
  if (protocol === "tcp" && !ports) throw new Error(`rule ${index}: tcp names its ports`);
  const allowed = narrowest(access && (access === "read-only" ? READING : WRITING), methods);
  const needsRequest = allowed !== undefined || paths !== undefined || query !== undefined;
  if (protocol === "tcp" && (needsRequest || rule.inspect || rule.headers)) {
    throw new Error(`rule ${index}: what is tcp is not read, so its requests cannot be limited`);
  }
  return {
    id,
    effect,
    protocol,
    ports: new Set(ports ?? [DEFAULT_PORT[protocol as "https" | "http"]]),
    ...(allowed && { methods: new Set(allowed) }),
    ...(paths && { paths: paths.flatMap(readingsOf).map(compilePath) }),
    ...(query && { query }),
    ...(rule.binaries && { binaries: rule.binaries.map(compilePath) }),
    cidrs: rule.cidrs ?? [],
    ...(rule.headers && { headers: rule.headers }),
    needsRequest,
    inspect: needsRequest || rule.headers !== undefined || rule.inspect === true || protocol === "http",
    ...(rule.budget && { purse: purseOf(rule) }),
  };
}

/** A rule's own id, or the host it is about: its place among the others may change. */
export const purseOf = ({ id, host }: Pick<NetworkRule, "id" | "host">): string => id ?? host;

function narrowest(preset: string[] | undefined, methods: string[] | undefined): string[] | undefined {
  return preset && methods ? methods.filter((method) => preset.includes(method)) : (preset ?? methods);
}

/** Every rule about this host and port. A host is a name in its one spelling, or an address. */
export function rulesFor(policy: Policy, host: string, port: number): CompiledRule[] {
  const found = [...(policy.exact.get(host) ?? [])];
  let cut = host.indexOf(".");
  if (cut > 0) found.push(...(policy.one.get(host.slice(cut + 1)) ?? []));
  for (; cut > 0; cut = host.indexOf(".", cut + 1)) {
    found.push(...(policy.any.get(host.slice(cut + 1)) ?? []));
  }
  return found.filter((rule) => rule.ports.has(port));
}
