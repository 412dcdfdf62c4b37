import {
  type GuardedNetwork,
  guardedNetworkSchema,
  type NetworkCallList,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import { needApproval } from "../approvals/need.ts";
import { refuseGuest } from "../attachments/acting.ts";
import type { House } from "../house.ts";
import { isStopped } from "../lifecycle/stopped.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { getProfile } from "../profiles/profiles.ts";
import { findSandbox, locate } from "../reach.ts";
import { expandNetwork } from "./expand.ts";
import { isGranted } from "./granted.ts";
import { authorizeNetwork, narrowNetwork } from "./narrow.ts";
import { proposeRules } from "./propose.ts";
import { protectAgain } from "./protect.ts";
import { tellGuard } from "./terms.ts";
import { wayOutOf } from "./way-out.ts";

/** The rules from now on. Connections that lose theirs are closed. */
export async function changeNetwork(
  house: House,
  principal: Principal,
  idOrName: string,
  body: unknown,
): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.network");
  const asked = parse(guardedNetworkSchema, body);
  const { sandbox } = await locate(house, principal, "sandbox.network", idOrName, ["running", "paused"]);
  await refuseGuest(house, principal, sandbox);
  const { rules } = wayOutOf(sandbox);
  const profile = sandbox.profile && `${sandbox.profile.name}@${sandbox.profile.version}`;
  const own = profile ? (await getProfile(house, principal, profile)).resolved.network : undefined;
  const granted = rules.filter(isGranted);
  const within = narrowNetwork(own, asked, granted) ?? asked;
  const network = authorizeNetwork(principal.chain, within) as GuardedNetwork;
  await needApproval(house, principal, "sandbox.network", { sandbox, spec: sandbox.spec, said: { network } });
  const changed = await house.store.changeNetwork({
    sandboxId: sandbox.id,
    network,
    atMs: house.clock.nowMs(),
    principalId: principal.id,
  });
  if (!changed?.location) throw new SandboxerError("sandbox_gone", "it ended meanwhile");
  // What is stopped meets its guard, and the newest rules, when it starts.
  if (isStopped(changed)) return changed;
  if (house.guard?.knows(sandbox.id)) await tellGuard(house, changed);
  else await protectAgain(house, changed, changed.location);
  return changed;
}

/** What a sandbox tried, and the rules that would have allowed what was not. */
export async function networkCalls(
  house: House,
  principal: Principal,
  idOrName: string,
  afterSeq = 0,
): Promise<NetworkCallList> {
  authorize(principal.chain, "sandbox.read");
  const { id, spec } = await findSandbox(house, principal, idOrName);
  const calls = house.guard?.calls(id, afterSeq) ?? [];
  const present = spec.network.egress === "guarded" ? expandNetwork(spec.network).rules : [];
  return { calls, proposed: proposeRules(calls, present), budgets: house.guard?.budgets(id) ?? [] };
}
