import {
  type ImportedPolicy,
  importedPolicySchema,
  nameSchema,
  type PolicyFinding,
  type Principal,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "../../house.ts";
import { parse } from "../../parse.ts";
import { binariesOf, endpointRules, type RuleInput } from "./endpoint.ts";
import { listOf, type Members, membersOf } from "./finding.ts";

/** What a sandbox's files are is its image's, and who it runs as is its user's: not a policy's. */
const STATIC: Readonly<Record<string, string>> = {
  filesystem_policy: "paths are not limited by a list; the image and the workspace say what is there",
  landlock: "isolation is the profile's `isolation`, and is never less than it says",
  process: "commands run as the sandbox's own user, or as whom a request names",
  network_middlewares: "there are none; `dlp` of the network looks through what leaves",
};

/** Somebody else's policy as a profile of ours. Publishes nothing, so whoever has a key may ask. */
export async function importPolicy(
  _: House,
  __: Principal,
  policy: unknown,
  name = "openshell",
): Promise<ImportedPolicy> {
  return importOpenShell(policy, parse(nameSchema, name));
}

/** A profile that allows nothing the policy does not, and what of the policy it is not. Pure. */
export function importOpenShell(document: unknown, name: string): ImportedPolicy {
  const policy = membersOf(document);
  if (policy.version !== 1) {
    throw new SandboxerError("invalid_request", "this is no OpenShell policy: its version is not 1");
  }
  const known = ["version", "network_policies", ...Object.keys(STATIC)];
  const unknown = Object.keys(policy).find((word) => !known.includes(word));
  if (unknown)
    throw new SandboxerError("invalid_request", `${unknown} is not understood, and nothing is guessed`);
  const findings: PolicyFinding[] = Object.entries(STATIC).flatMap(([where, why]) =>
    policy[where] === undefined ? [] : [{ where, what: "unenforced" as const, why }],
  );
  const rules = Object.entries(membersOf(policy.network_policies)).flatMap(([key, one]) =>
    policyRules(key, membersOf(one), findings),
  );
  const description = "imported from an OpenShell policy";
  const profile = { schema: 1, name, description, network: { egress: "guarded", rules } };
  return importedPolicySchema.parse({ profile, findings });
}

function policyRules(key: string, policy: Members, findings: PolicyFinding[]): RuleInput[] {
  const place = `network_policies.${key}`;
  const binaries = binariesOf(policy);
  const unknown = Object.keys(policy).find((word) => !["name", "endpoints", "binaries"].includes(word));
  const why = unknown ? `${unknown} is not understood` : "it names no program";
  if (unknown || binaries.length === 0) {
    findings.push({ where: place, what: "narrowed", why: `left out: ${why}` });
    return [];
  }
  return listOf(policy.endpoints).flatMap((endpoint, at) => {
    const where = `${place}.endpoints[${at}]`;
    const made = endpointRules(membersOf(endpoint), binaries, (what, reason) =>
      findings.push({ where, what, why: reason }),
    );
    return made.map((rule, index) => ({ id: idOf(key, at, index), ...rule }));
  });
}

const idOf = (key: string, endpoint: number, rule: number): string =>
  `${key.replaceAll(/[^\w.-]/g, "-").slice(0, 60)}/${endpoint + 1}.${rule + 1}`;
