import { type egressRuleSchema, parseHostPattern } from "@sandboxer/contract";
import { type Find, listOf, type Members, membersOf } from "./finding.ts";
import { requestRules } from "./requests.ts";

export type RuleInput = typeof egressRuleSchema._input;

/** Those that only loosen something that stays tight here. */
const LOOSENING = [
  "allow_encoded_slash",
  "allow_uninspected_credentials",
  "request_body_credential_rewrite",
  "websocket_credential_rewrite",
];
/** Credentials are bound to hosts by their owner, and not by a policy. */
const CREDENTIALS = ["credential_signing", "signing_service", "signing_region", "credential_binding"];
const KNOWN = [
  ...["host", "port", "ports", "path", "protocol", "tls", "enforcement", "access", "rules", "deny_rules"],
  ...["allowed_ips", ...LOOSENING, ...CREDENTIALS],
];
const UNREADABLE = ["graphql", "mcp", "json-rpc"];

/** The rules that say of one endpoint what can be said here; none where that would be more. */
export function endpointRules(endpoint: Members, binaries: string[], find: Find): RuleInput[] {
  const { host, protocol = "", tls, enforcement } = endpoint;
  const leaveOut = (why: string): RuleInput[] => {
    find("narrowed", `left out: ${why}`);
    return [];
  };
  const unknown = Object.keys(endpoint).find((name) => !KNOWN.includes(name));
  if (unknown) return leaveOut(`${unknown} is not understood`);
  if (typeof host !== "string" || !parseHostPattern(host)) return leaveOut(`${host} is no host here`);
  if (UNREADABLE.includes(String(protocol))) return leaveOut(`${protocol} is not read here`);
  const ports = [...listOf(endpoint.ports), ...(endpoint.port === undefined ? [] : [endpoint.port])];
  if (ports.length === 0 || !ports.every(isPort)) return leaveOut("it names no port");
  const isRest = protocol === "rest" || protocol === "websocket";
  if (isRest && endpoint.access === undefined && !Array.isArray(endpoint.rules)) {
    return leaveOut("it says neither access nor rules");
  }
  const carried = carriageOf(String(protocol), ports, find);
  const requests = requestRules(endpoint, find);
  if (!requests) return [];
  const isRead = requests.some((one) => Object.keys(one).length > 1);
  if (isRead && (tls === "skip" || carried === "tcp")) return leaveOut("its requests cannot be read");
  if (enforcement === "audit") find("narrowed", "enforced: what is not allowed is not let through");
  for (const name of LOOSENING) if (endpoint[name]) find("narrowed", `${name} is not here`);
  for (const name of CREDENTIALS) {
    if (endpoint[name] !== undefined) find("narrowed", `${name}: bind the secret with \`secrets set --to\``);
  }
  const cidrs = listOf(endpoint.allowed_ips).map((one) => asCidr(String(one)));
  const common = { host: host.toLowerCase(), protocol: carried, ports: [...new Set(ports)], binaries };
  return requests.map(({ effect, ...request }) => ({
    ...common,
    ...(effect === "deny" && { effect }),
    ...request,
    ...(cidrs.length > 0 && effect === "allow" && { cidrs }),
  }));
}

const isPort = (port: unknown): port is number => Number.isInteger(port) && Number(port) > 0;

/** What says nothing of its protocol may be anything there; here it is what its port stands for. */
function carriageOf(protocol: string, ports: readonly unknown[], find: Find): "https" | "http" | "tcp" {
  if (protocol === "rest" || protocol === "websocket")
    return ports.every((one) => one === 80) ? "http" : "https";
  if (ports.every((one) => one === 443)) {
    find("narrowed", "TLS for exactly this name, and nothing else on 443");
    return "https";
  }
  return "tcp";
}

const asCidr = (text: string): string =>
  text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`;

export function binariesOf(policy: Members): string[] {
  return listOf(policy.binaries).flatMap((one) => {
    const path = typeof one === "string" ? one : membersOf(one).path;
    return typeof path === "string" && path.startsWith("/") ? [path] : [];
  });
}
