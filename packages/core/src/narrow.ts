import {
  type CreateBody,
  namesHostFolder,
  type Principal,
  type Sandbox,
  SandboxerError,
  stronger,
  type Visibility,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { defaultNetwork } from "./network/capabilities.ts";
import { authorize, authorizeCreate, authorizeProfile } from "./policy/authorize.ts";
import { withProfile } from "./profiles/profiles.ts";
import { admitSecrets } from "./secrets/terms.ts";
import { floorOf, trustOf } from "./trust/tier.ts";
import { admitVolumes } from "./volumes/volumes.ts";

/**
 * What was asked, within its profile and within every link of the caller's chain. `kept`: the profile of
 * what it is a copy of, which has everything from it already.
 */
export async function narrow(
  house: House,
  principal: Principal,
  asked: CreateBody,
  kept?: Sandbox["profile"],
) {
  // What a profile names, whoever published it has answered for.
  if (namesHostFolder(asked.image)) authorize(principal.chain, "workspace.mount");
  const { body, profile, pool } = kept
    ? { body: asked, profile: kept, pool: undefined }
    : await withProfile(house, principal, asked);
  authorizeProfile(principal.chain, profile);
  const network = body.network ?? defaultNetwork(principal.chain);
  const allowed = authorizeCreate(principal.chain, { ...body, ...(network && { network }) });
  const trust = trustOf(house.trust, principal, house.clock.nowMs());
  const isolation = stronger(allowed.spec.isolation, floorOf(trust));
  const asAsked = { ...allowed.spec, isolation, ...(pool !== undefined && { pool }) };
  const spec = await admitVolumes(house, principal, asAsked);
  await admitSecrets(house, principal, spec);
  return { ...allowed, spec, trust, visibility: visibilityOf(principal, allowed), profile };
}

/** Private, unless it is to be shared: then those share it who see it. */
function visibilityOf(
  { team }: Principal,
  { visibility, reuse }: Pick<ReturnType<typeof authorizeCreate>, "visibility" | "reuse">,
): Visibility {
  if (visibility === "team" && team === undefined) {
    throw new SandboxerError("invalid_request", "visibility: this key is of no team");
  }
  if (reuse?.scope !== "shared") return visibility ?? "private";
  if (visibility !== "private") return visibility ?? (team === undefined ? "org" : "team");
  throw new SandboxerError("invalid_request", "reuse: what is shared cannot be private", {
    hint: "Ask for visibility team or org, or for the scope agent.",
  });
}

export type Narrowed = Awaited<ReturnType<typeof narrow>>;
