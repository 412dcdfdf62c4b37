import type { CompiledRule, Policy } from "./compile.ts";
import { rulesFor } from "./compile.ts";
import { queryValues, readingsOf, type Target } from "./path.ts";

/** How a connection is carried: unread, or with every request in sight. */
export type Carriage = "tls" | "tcp" | "inspected-tls" | "inspected-http";

export type Decision =
  | {
      /** `asked`: only if somebody says so now. */
      readonly verdict: "allowed" | "audited" | "asked";
      readonly carriage: Carriage;
      /** Of a connection that is read: each of its requests is asked about before anything is looked up. */
      readonly asksEach?: boolean;
      readonly rule?: string;
      /** Addresses inside a network that may be dialled for it. */
      readonly cidrs: readonly string[];
    }
  | { readonly verdict: "denied"; readonly rule?: string; readonly reason: string };

export interface Asked {
  /** In its one spelling. */
  readonly host: string;
  readonly port: number;
  /** The path of the program that asks, where it can be seen. */
  readonly binary?: string | undefined;
}

/** Pure. Nothing is allowed that a rule does not allow, and a rule that denies wins. */
export function decideConnection(policy: Policy, asked: Asked): Decision {
  const all = rulesFor(policy, asked.host, asked.port);
  const rules = all.filter((rule) => isForProgram(rule, asked.binary));
  const denying = rules.find((rule) => rule.effect === "deny" && !rule.needsRequest);
  if (denying) return { verdict: "denied", rule: denying.id, reason: `the rule ${denying.id} denies it` };
  const passing = rules.filter((rule) => rule.effect !== "deny");
  const allowing = passing.find((rule) => rule.effect === "allow");
  const first = allowing ?? passing[0];
  if (!first) return unnamed(policy, asked, all);
  const carriage = strictest(rules, passing);
  // What is carried unread may be just what a rule denies.
  const blind = isRead(carriage) ? undefined : rules.find(({ effect }) => effect === "deny");
  if (blind) {
    const reason = `the rule ${blind.id} denies some of it, and what is ${carriage} is not read`;
    return { verdict: "denied", rule: blind.id, reason };
  }
  const cidrs = passing.flatMap((rule) => rule.cidrs);
  const verdict = allowing || isRead(carriage) ? "allowed" : "asked";
  return { verdict, carriage, rule: first.id, cidrs, ...(!allowing && { asksEach: true }) };
}

/** Where requests are in sight, it is each of them that somebody is asked about. */
function isRead(carriage: Carriage): boolean {
  return carriage === "inspected-tls" || carriage === "inspected-http";
}

/** The same connection, but read. */
export function read(decision: Exclude<Decision, { verdict: "denied" }>): Decision {
  const verdict = decision.verdict === "asked" ? "allowed" : decision.verdict;
  return { ...decision, verdict, carriage: "inspected-tls" };
}

/** Still let through, and carried in the same way. */
export function isSame(before: Decision, now: Decision): boolean {
  if (before.verdict === "denied" || now.verdict === "denied") return false;
  return before.carriage === now.carriage;
}

function unnamed({ mode }: Policy, asked: Asked, others: readonly CompiledRule[]): Decision {
  const { host, port } = asked;
  if (mode === "enforce") {
    return { verdict: "denied", reason: `no rule allows ${host}:${port}${forWhom(asked, others)}` };
  }
  const carriage = port === 443 ? "tls" : port === 80 ? "inspected-http" : "tcp";
  if (mode === "audit") return { verdict: "audited", carriage, cidrs: [] };
  return { verdict: isRead(carriage) ? "allowed" : "asked", carriage, cidrs: [], asksEach: true };
}

/** Whose program cannot be seen may be any, and gets what every program gets. */
function isForProgram({ binaries, effect }: CompiledRule, binary: string | undefined): boolean {
  if (!binaries) return true;
  return binary === undefined ? effect === "deny" : binaries.some((glob) => glob.test(binary));
}

/** Says so where there are rules, but for other programs. */
function forWhom({ binary }: Asked, rules: readonly CompiledRule[]): string {
  if (!rules.some(({ effect, binaries }) => effect !== "deny" && binaries)) return "";
  return binary === undefined ? ", as the program that asks cannot be seen" : ` for ${binary}`;
}

/** Where rules disagree about how closely to look, the closest look is taken. */
function strictest(rules: readonly CompiledRule[], allowing: readonly CompiledRule[]): Carriage {
  const isHttps = allowing.some(({ protocol }) => protocol === "https");
  const isHttp = allowing.some(({ protocol }) => protocol === "http");
  if (isHttps) return rules.some(({ inspect }) => inspect) ? "inspected-tls" : "tls";
  return isHttp ? "inspected-http" : "tcp";
}

export interface AskedRequest extends Asked, Target {
  readonly scheme: "http" | "https";
  readonly method: string;
}

/** Pure. The same for one request on a connection that is read. */
export function decideRequest(policy: Policy, asked: AskedRequest): Decision {
  const all = rulesFor(policy, asked.host, asked.port);
  const rules = all.filter((rule) => isForProgram(rule, asked.binary));
  const matching = rules.filter((rule) => matches(rule, asked));
  const denying = matching.find(({ effect }) => effect === "deny");
  if (denying) return { verdict: "denied", rule: denying.id, reason: `the rule ${denying.id} denies it` };
  for (const [effect, verdict] of [
    ["allow", "allowed"],
    ["ask", "asked"],
  ] as const) {
    const passing = matching.filter((rule) => rule.effect === effect);
    const [first] = passing;
    if (!first) continue;
    const cidrs = passing.flatMap((rule) => rule.cidrs);
    return { verdict, carriage: strictest(rules, passing), rule: first.id, cidrs };
  }
  if (policy.mode !== "enforce") {
    return { verdict: policy.mode === "audit" ? "audited" : "asked", carriage: "inspected-http", cidrs: [] };
  }
  const { method, host, port, path } = asked;
  const whom = forWhom(asked, all);
  return { verdict: "denied", reason: `no rule allows ${method} ${host}:${port}${path}${whom}` };
}

export function matches(rule: CompiledRule, { scheme, method, path, query }: AskedRequest): boolean {
  // What may go through TLS may not go in the clear; what is denied is denied in every language.
  if (rule.effect !== "deny" && rule.protocol !== scheme) return false;
  if (rule.methods && !rule.methods.has(method)) return false;
  // What can be read in two ways is denied by either, and allowed by both.
  const isDenial = rule.effect === "deny";
  const isMeant = (reading: string) => rule.paths?.some((pattern) => pattern.test(reading)) ?? true;
  if (!(isDenial ? readingsOf(path).some(isMeant) : readingsOf(path).every(isMeant))) return false;
  return Object.entries(rule.query ?? {}).every(([name, value]) =>
    isDenial ? queryValues(query, name).includes(value) : isOnly(queryValues(query, name), value),
  );
}

function isOnly(values: readonly string[], value: string): boolean {
  return values.length === 1 && values[0] === value;
}
