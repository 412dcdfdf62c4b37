import {
  type OfferedProfile,
  type Principal,
  type PublishedProfile,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { narrow } from "../narrow.ts";
import { route } from "../route/route.ts";
import { knownProfiles } from "./profiles.ts";

/** Enough for a median that one slow start does not move. */
const SAMPLES = 101;

/** Each with what the one who asks would get of it now: where, for how much, and how soon. */
export async function listProfiles(house: House, principal: Principal): Promise<OfferedProfile[]> {
  const known = await knownProfiles(house, principal);
  return Promise.all(
    known.map(async (profile) => ({ ...profile, offer: await offerOf(house, principal, profile) })),
  );
}

async function offerOf(
  house: House,
  principal: Principal,
  { name, version, digest }: PublishedProfile,
): Promise<OfferedProfile["offer"]> {
  const startsMs = await house.store.coldStarts(principal.orgId, digest, SAMPLES);
  const coldStart = startsMs.length > 0 && { medianMs: median(startsMs), samples: startsMs.length };
  return { ...(await candidatesOf(house, principal, `${name}@${version}`)), ...(coldStart && { coldStart }) };
}

async function candidatesOf(house: House, principal: Principal, profile: string) {
  try {
    const { spec, routing, trust } = await narrow(house, principal, { profile });
    const { candidates, rejected } = route(spec, await house.registry.offers(), routing, trust);
    const reason = rejected.map(({ extensionId, reason }) => `${extensionId}: ${reason}`).join("; ");
    return {
      candidates: candidates.map(({ extensionId, microUsdPerHour }) => ({ extensionId, microUsdPerHour })),
      ...(candidates.length === 0 && { reason }),
    };
  } catch (error) {
    const { code, message } = SandboxerError.from(error);
    if (code !== "policy_denied") throw error;
    return { candidates: [], reason: message };
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
