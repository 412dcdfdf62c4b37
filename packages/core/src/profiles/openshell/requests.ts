import { type Find, listOf, type Members, membersOf } from "./finding.ts";

/** What of a request a rule is about; with nothing but its effect, it is about all of them. */
export interface RequestRule {
  readonly effect: "allow" | "deny";
  readonly methods?: string[];
  readonly paths?: string[];
  readonly query?: Record<string, string>;
}

const READING = ["GET", "HEAD", "OPTIONS"];
/** Whether deleting is writing is not ours to guess. */
const WRITING = [...READING, "POST", "PUT", "PATCH"];

/** Nothing where a denial cannot be said: then nothing may be allowed beside it. */
export function requestRules(endpoint: Members, find: Find): RequestRule[] | undefined {
  const denials = listOf(endpoint.deny_rules).map((one) => ruleOf("deny", membersOf(one)));
  if (denials.includes(undefined)) {
    find("narrowed", "left out: one of its deny_rules cannot be said here");
    return undefined;
  }
  const { access, path } = endpoint;
  const paths = typeof path === "string" && path !== "/**" && path !== "" ? [path] : undefined;
  if (Array.isArray(endpoint.rules)) {
    const asked = endpoint.rules.map((one) => ruleOf("allow", membersOf(membersOf(one).allow), paths));
    const said = asked.filter((one) => one !== undefined);
    if (said.length < asked.length) {
      find("narrowed", `${asked.length - said.length} of its rules cannot be said here, and are left out`);
    }
    return [...said, ...(denials as RequestRule[])];
  }
  if (access === "read-write") find("narrowed", "read-write is without DELETE");
  const methods = access === "read-only" ? READING : access === "read-write" ? WRITING : undefined;
  const all = { effect: "allow" as const, ...(methods && { methods }), ...(paths && { paths }) };
  return [all, ...(denials as RequestRule[])];
}

/** A path of the endpoint's and one of the rule's would both have to fit, which only the same ones do. */
function ruleOf(effect: "allow" | "deny", said: Members, outer?: string[]): RequestRule | undefined {
  const { method = "*", path, query, ...others } = said;
  if (Object.keys(others).length > 0 || typeof method !== "string") return undefined;
  if (path !== undefined && (typeof path !== "string" || !path.startsWith("/"))) return undefined;
  if (outer && path !== undefined && path !== outer[0]) return undefined;
  const pairs = Object.entries(membersOf(query));
  if (pairs.some(([, value]) => typeof value !== "string" || value.includes("*"))) return undefined;
  const paths = path === undefined || path === "/**" ? outer : [path];
  return {
    effect,
    ...(method !== "*" && { methods: [method.toUpperCase()] }),
    ...(paths && { paths }),
    ...(pairs.length > 0 && { query: Object.fromEntries(pairs) as Record<string, string> }),
  };
}
