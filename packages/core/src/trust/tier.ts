import {
  type IsolationClass,
  isAtLeast,
  type LeastIsolation,
  type Principal,
  type TrustPolicy,
  type TrustTier,
} from "@sandboxer/contract";

/**
 * How far an agent is known, which is as far as the least known agent of its chain: nobody makes
 * somebody who is trusted more than itself. Nothing where no agent is in it. Pure.
 */
export function tierOf({ standing = [] }: Principal, nowMs: number): TrustTier | undefined {
  const agents = standing.filter(({ kind }) => kind === "agent");
  if (agents.length === 0) return undefined;
  return agents.every(({ provenUntilMs = 0 }) => provenUntilMs > nowMs) ? "verified" : "unknown";
}

/** What the operator's policy makes of it. */
export interface Trust {
  readonly tier: TrustTier;
  readonly isolation: LeastIsolation;
}

export function trustOf(policy: TrustPolicy, principal: Principal, nowMs: number): Trust | undefined {
  const tier = tierOf(principal, nowMs);
  return tier && { tier, isolation: policy[tier] };
}

/** A class that is named is a floor like any other; which is the strongest, only the router can tell. */
export function floorOf(trust: Trust | undefined): IsolationClass {
  return !trust || trust.isolation === "strongest" ? "process" : trust.isolation;
}

/** Why a candidate is too weak beside the strongest there is. */
export function tooWeak(
  trust: Trust | undefined,
  own: IsolationClass,
  classes: readonly IsolationClass[],
): string | undefined {
  if (trust?.isolation !== "strongest") return undefined;
  const stronger = classes.find((one) => !isAtLeast(own, one));
  if (!stronger) return undefined;
  const strongest = classes.reduce((a, b) => (isAtLeast(a, b) ? a : b), stronger);
  return `isolation is ${own}; an agent that is ${trust.tier} gets the strongest there is, ${strongest}`;
}
