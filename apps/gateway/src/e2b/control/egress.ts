import { isIP } from "node:net";
import {
  type GuardedNetworkInput,
  type NetworkRule,
  SandboxerError,
  secretsNamedIn,
} from "@sandboxer/contract";
import { z } from "zod";
import { addressOf, addressRule } from "./addresses.ts";
import { rulesShown, transformSchema, written } from "./transforms.ts";

export const egressSchema = z.object({
  allowOut: z.array(z.string().min(1).max(255)).max(200).nullish(),
  denyOut: z.array(z.string().min(1).max(255)).max(200).nullish(),
  egressProxy: z.null("this gateway does not have that").optional(),
  rules: z.record(z.string().min(1).max(255), z.array(transformSchema).max(20)).nullish(),
});
export type Egress = z.output<typeof egressSchema>;

/** There a connection that is denied breaks off, and whatever answers is taken for the host. */
export const GUARDED = { egress: "guarded", denied: "reset" } as const;

/**
 * E2B's default is the whole internet; this house's is nothing but the names that are allowed. The
 * operator may have said that all is meant where nothing is said: then the guard lets it through,
 * where the key may, and writes it down.
 */
export function egressFor(
  egress: Egress,
  asksForInternet: boolean,
  givesInternet: boolean,
): GuardedNetworkInput | undefined {
  const denied = egress.denyOut ?? [];
  const denies = denied.some(isEverything);
  const isAskedOpen = (egress.allowOut ?? []).some(isEverything);
  const isOpen = isAskedOpen || (givesInternet && asksForInternet && !denies);
  if (isOpen && denied.length > 0) throw tooOpen(denied[0] ?? "");
  const changed = new Map(
    Object.entries(egress.rules ?? {}).map(([host, rules]) => [hostOf(host), written(rules)]),
  );
  const listed = (egress.allowOut ?? []).filter((place) => !isEverything(place));
  const places = [...new Set(listed.map((place) => addressOf(place) ?? hostOf(place)))];
  const [addresses, allowed] = [places.filter((one) => isIP(one)), places.filter((one) => !isIP(one))];
  // Whoever says what becomes of requests to a host means to reach it, unless a list says otherwise.
  const isListed = egress.allowOut != null && egress.allowOut.length > 0;
  const meant = denies || isListed ? [] : [...changed.keys()];
  const hosts = [...new Set([...allowed, ...meant])];
  const rules = hosts.flatMap((host) => rulesFor(host, headersFor(changed, host)));
  const narrower = [...changed.keys()].filter((host) => !hosts.includes(host) && isCovered(host, allowed));
  const all = [
    ...rules,
    ...narrower.flatMap((host) => rulesFor(host, headersFor(changed, host))),
    ...addresses.map(addressRule),
  ];
  if (isOpen) return { ...GUARDED, mode: "audit", rules: all };
  return all.length > 0 ? { ...GUARDED, rules: all } : undefined;
}

/** The secrets that its rules write somewhere. */
export function secretsIn(network: GuardedNetworkInput | undefined): string[] {
  const texts = (network?.rules ?? []).flatMap(({ headers = {} }) => Object.values(headers));
  return [...new Set(texts.flatMap(secretsNamedIn))];
}

type Headers = Readonly<Record<string, string>>;

/** By TLS and in the clear, as E2B lets a name through; what holds a secret goes by TLS alone. */
function rulesFor(host: string, headers: Headers): Pick<NetworkRule, "host" | "protocol" | "headers">[] {
  const hasSecret = Object.values(headers).some((text) => secretsNamedIn(text).length > 0);
  const protocols = hasSecret ? (["https"] as const) : (["https", "http"] as const);
  const put = Object.keys(headers).length > 0 ? { headers } : {};
  return protocols.map((protocol) => ({ host, protocol, ...put }));
}

function headersFor(changed: ReadonlyMap<string, Headers>, host: string): Headers {
  return changed.get(host) ?? {};
}

/** A name in the house's spelling. */
function hostOf(name: string): string {
  if (isIP(name.split("/")[0] ?? "") || isEverything(name)) {
    throw new SandboxerError("invalid_request", `${name} is an address; headers are written for names alone`);
  }
  return name.toLowerCase().replace(/^\*\./, "**.");
}

function isCovered(host: string, allowed: readonly string[]): boolean {
  return allowed.some((one) => one.startsWith("**.") && host.endsWith(one.slice(2)));
}

function isEverything(place: string): boolean {
  return place === "0.0.0.0/0" || place === "::/0" || place === "*";
}

/**
 * Where all is open the guard looks at names, and a name may lead to whatever is denied; so a part
 * cannot be denied there, and nobody is to believe that it is.
 */
function tooOpen(place: string): SandboxerError {
  const why = `denyOut: ${place} cannot be taken from a network that is open`;
  const hint = "Deny everything (0.0.0.0/0) and name in allowOut what may be reached.";
  return new SandboxerError("invalid_request", why, { hint });
}

/** The rules as E2B's clients would have written them. */
export function egressOf(rules: readonly Pick<NetworkRule, "host" | "effect" | "headers">[]): {
  readonly allowOut: string[];
  readonly rules?: object;
} {
  const allowing = rules.filter(({ effect }) => effect !== "deny");
  const spelled = allowing.map(({ host, headers }) => ({ host: host.replace(/^\*\*\./, "*."), headers }));
  const shown = rulesShown(spelled);
  return { allowOut: [...new Set(spelled.map(({ host }) => host))], ...(shown && { rules: shown }) };
}
