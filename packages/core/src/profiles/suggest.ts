import {
  type Network,
  type NetworkRule,
  nameSchema,
  type Principal,
  type Profile,
  type Sandbox,
  SandboxerError,
  type Suggestion,
  type Usage,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { usageWritten } from "../lifecycle/usage-written.ts";
import { proposeRules } from "../network/propose.ts";
import { reachedBy } from "../network/reached.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { findSandbox } from "../reach.ts";

/** Room above what was seen: the next run is never the same. */
const ROOM = 1.5;
const MIB = 1_048_576;

/** From what one audited sandbox used: while it lives from what is seen, afterwards from what was written. */
export async function suggestProfile(
  house: House,
  principal: Principal,
  idOrName: string,
  name = "suggested",
): Promise<Suggestion> {
  authorize(principal.chain, "sandbox.read");
  parse(nameSchema, name);
  const sandbox = await findSandbox(house, principal, idOrName);
  const usage = (await house.auditor.look(sandbox)) ?? (await usageWritten(house, sandbox));
  if (!usage) {
    throw new SandboxerError("invalid_request", "nothing was written down about this sandbox", {
      hint: "Create one with `audit`, use it as it is meant to be used, and ask again.",
    });
  }
  const proposed = proposeRules((await reachedBy(house, sandbox)).places);
  const profile = { ...fitting(sandbox, usage, name), network: networkWith(sandbox, proposed) };
  return { profile, usage, notes: [...notesOn(usage), noteOnNetwork(sandbox, proposed)] };
}

function fitting({ spec, profile }: Sandbox, usage: Usage, name: string): Profile {
  const { memoryBytes, pids, cpus, diskBytes, ranMs } = usage;
  const ttlMs = upTo(ranMs * 2, 60_000);
  return {
    schema: 1,
    name,
    description: `As much as one run used, and half as much again; of ${usage.samples} looks at it.`,
    ...(profile ? { extends: `${profile.name}@${profile.version}` } : { image: spec.image }),
    isolation: spec.isolation,
    resources: {
      ...(memoryBytes !== undefined && { memoryMiB: upTo((memoryBytes / MIB) * ROOM, 64) }),
      ...(pids !== undefined && { pids: upTo(pids * ROOM, 16) }),
      ...(cpus !== undefined && { cpus: upTo(cpus * ROOM * 2, 1) / 2 }),
      ...(diskBytes !== undefined && { diskMiB: upTo((diskBytes / MIB) * ROOM, 64) }),
    },
    ttlMs,
  };
}

/** The next whole step, at least one. */
function upTo(value: number, step: number): number {
  return Math.max(1, Math.ceil(value / step)) * step;
}

function notesOn({ samples, programs }: Usage): string[] {
  const started = Object.entries(programs).map(([program, times]) => `${program} (${times})`);
  return [
    ...(samples === 0 ? ["resources: its extension counts nothing, so none is suggested"] : []),
    ...(samples > 0 && samples < 3 ? ["resources: it was looked at only briefly; run it for longer"] : []),
    `programs: ${started.join(", ") || "none was started"}`,
  ];
}

/** What it had, and what it tried beyond that; from now on enforced. */
function networkWith({ spec: { network } }: Sandbox, proposed: readonly NetworkRule[]): Network {
  if (network.egress === "deny") return network;
  return { ...network, mode: "enforce", rules: [...network.rules, ...proposed] };
}

function noteOnNetwork({ spec: { network } }: Sandbox, proposed: readonly NetworkRule[]): string {
  if (network.egress === "deny") {
    return "network: it had no way out, so nothing is known; the guard learns names in a sandbox with one, in audit mode";
  }
  const hosts = [...new Set(proposed.map(({ host }) => host))];
  return `network: it also tried ${hosts.join(", ") || "nothing that its rules do not allow"}; read the rules before you publish them`;
}
