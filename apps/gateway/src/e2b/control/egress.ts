import { isIP } from "node:net";
import { type GuardedNetworkInput, type NetworkRule, SandboxerError } from "@sandboxer/contract";
import { z } from "zod";

export const egressSchema = z.object({
  allowOut: z.array(z.string().min(1).max(255)).max(200).nullish(),
  denyOut: z.array(z.string().min(1).max(255)).max(200).nullish(),
  egressProxy: z.null("this gateway does not have that").optional(),
  rules: z
    .record(z.string(), z.array(z.unknown()))
    .refine((rules) => Object.keys(rules).length === 0, "this gateway does not have that")
    .nullish(),
});
export type Egress = z.output<typeof egressSchema>;

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
  const rules = (egress.allowOut ?? []).flatMap(rulesFor);
  const denies = (egress.denyOut ?? []).some(isEverything);
  if (givesInternet && asksForInternet && !denies) return { egress: "guarded", mode: "audit", rules };
  return rules.length > 0 ? { egress: "guarded", rules } : undefined;
}

/** By TLS and in the clear, as E2B lets a name through. */
function rulesFor(name: string): Pick<NetworkRule, "host" | "protocol">[] {
  if (isIP(name.split("/")[0] ?? "") || isEverything(name)) {
    throw new SandboxerError("invalid_request", `allowOut: ${name} is an address; only names can be allowed`);
  }
  const host = name.toLowerCase().replace(/^\*\./, "**.");
  return (["https", "http"] as const).map((protocol) => ({ host, protocol }));
}

function isEverything(place: string): boolean {
  return place === "0.0.0.0/0" || place === "::/0" || place === "*";
}

/** The rules as E2B's clients would have written them. */
export function allowedNames(rules: readonly Pick<NetworkRule, "host" | "effect">[]): string[] {
  const hosts = rules
    .filter(({ effect }) => effect !== "deny")
    .map(({ host }) => host.replace(/^\*\*\./, "*."));
  return [...new Set(hosts)];
}
