import type { CompiledRule, Policy } from "./compile.ts";
import { rulesFor } from "./compile.ts";
import { queryValue, type Target } from "./path.ts";

/** How a connection is carried: unread, or with every request in sight. */
export type Carriage = "tls" | "tcp" | "inspected-tls" | "inspected-http";

export type Decision =
  | {
      readonly verdict: "allowed" | "audited";
      readonly carriage: Carriage;
      readonly rule?: string;
      /** Addresses inside a network that may be dialled for it. */
      readonly cidrs: readonly string[];
    }
  | { readonly verdict: "denied"; readonly rule?: string; readonly reason: string };

export interface Asked {
  /** In its one spelling. */
  readonly host: string;
  readonly port: number;
}

/** Pure. Nothing is allowed that a rule does not allow, and a rule that denies wins. */
export function decideConnection(policy: Policy, { host, port }: Asked): Decision {
  const rules = rulesFor(policy, host, port);
  const denying = rules.find((rule) => rule.effect === "deny" && !rule.needsRequest);
  if (denying) return { verdict: "denied", rule: denying.id, reason: `the rule ${denying.id} denies it` };
  const allowing = rules.filter((rule) => rule.effect === "allow");
  const [first] = allowing;
  if (!first) return unnamed(policy, host, port);
  return {
    verdict: "allowed",
    carriage: strictest(rules, allowing),
    rule: first.id,
    cidrs: allowing.flatMap(({ cidrs }) => cidrs),
  };
}

function unnamed(policy: Policy, host: string, port: number): Decision {
  if (policy.mode !== "audit") return { verdict: "denied", reason: `no rule allows ${host}:${port}` };
  const carriage = port === 443 ? "tls" : port === 80 ? "inspected-http" : "tcp";
  return { verdict: "audited", carriage, cidrs: [] };
}

/** Where rules disagree about how closely to look, the closest look is taken. */
function strictest(rules: readonly CompiledRule[], allowing: readonly CompiledRule[]): Carriage {
  const isHttps = allowing.some(({ protocol }) => protocol === "https");
  const isHttp = allowing.some(({ protocol }) => protocol === "http");
  if (isHttps) return rules.some(({ inspect }) => inspect) ? "inspected-tls" : "tls";
  return isHttp ? "inspected-http" : "tcp";
}

export interface AskedRequest extends Asked, Target {
  readonly method: string;
}

/** Pure. The same for one request on a connection that is read. */
export function decideRequest(policy: Policy, asked: AskedRequest): Decision {
  const rules = rulesFor(policy, asked.host, asked.port).filter(({ protocol }) => protocol !== "tcp");
  const matching = rules.filter((rule) => matches(rule, asked));
  const denying = matching.find(({ effect }) => effect === "deny");
  if (denying) return { verdict: "denied", rule: denying.id, reason: `the rule ${denying.id} denies it` };
  const allowing = matching.filter(({ effect }) => effect === "allow");
  const [first] = allowing;
  if (first) {
    const cidrs = allowing.flatMap((rule) => rule.cidrs);
    return { verdict: "allowed", carriage: strictest(rules, allowing), rule: first.id, cidrs };
  }
  if (policy.mode === "audit") return { verdict: "audited", carriage: "inspected-http", cidrs: [] };
  const { method, host, port, path } = asked;
  return { verdict: "denied", reason: `no rule allows ${method} ${host}:${port}${path}` };
}

function matches(rule: CompiledRule, { method, path, query }: AskedRequest): boolean {
  if (rule.methods && !rule.methods.has(method)) return false;
  if (rule.paths && !rule.paths.some((pattern) => pattern.test(path))) return false;
  return Object.entries(rule.query ?? {}).every(([name, value]) => queryValue(query, name) === value);
}
