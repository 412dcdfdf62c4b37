import {
  type CreateBody,
  newSandboxId,
  type Principal,
  type Sandbox,
  SandboxerError,
  type Visibility,
} from "@sandboxer/contract";
import { hold } from "./hold.ts";
import type { House } from "./house.ts";
import { answerOnce, claimOf, type Once } from "./idempotency.ts";
import { authorize, authorizeCreate, authorizeProfile } from "./policy/authorize.ts";
import { withProfile } from "./profiles/profiles.ts";
import { reuseOr } from "./reuse.ts";
import { type RoutePlan, route } from "./route/route.ts";
import { settle } from "./settle.ts";
import type { Claim } from "./store/idempotency-store.ts";
import { tryEach } from "./try-each.ts";

export async function create(
  house: House,
  principal: Principal,
  body: CreateBody,
  once: Once = {},
): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.create");
  const claim = claimOf(house, principal, "sandbox.create", body, once);
  return answerOnce(house, claim, async () => {
    // 1 narrow
    const narrowed = await narrow(house, principal, body);
    return reuseOr(house, principal, narrowed, claim, (label) =>
      make(house, principal, { ...narrowed, label }, claim),
    );
  });
}

/** The five steps of the waist. Killed at any line, the next start puts right what it left. */
async function make(
  house: House,
  principal: Principal,
  narrowed: Narrowed & { readonly label: string | undefined },
  claim: Claim | undefined,
): Promise<Sandbox> {
  // 2 plan
  const plan = route(narrowed.spec, await house.registry.offers(), narrowed.routing);
  if (plan.candidates.length === 0) throw noCandidate(plan);

  house.pass("create.planned");
  const id = newSandboxId();
  house.creating.add(id);
  try {
    // 3 hold
    const sandbox = await hold(house, principal, { id, ...narrowed, plan, claim });
    house.pass("create.held");
    // 4 try
    const taken = await tryEach(house, sandbox, plan.candidates);
    house.pass("create.made");
    // 5 settle
    return await settle(house, sandbox, taken, claim !== undefined);
  } finally {
    house.creating.delete(id);
  }
}

/** What was asked, within its profile and within every link of the caller's chain. */
export async function narrow(house: House, principal: Principal, asked: CreateBody) {
  const { body, profile } = await withProfile(house, principal, asked);
  authorizeProfile(principal.chain, profile);
  const allowed = authorizeCreate(principal.chain, body);
  return { ...allowed, visibility: visibilityOf(principal, allowed), profile };
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

function noCandidate({ rejected }: RoutePlan): SandboxerError {
  const reasons = rejected.map(({ extensionId, reason }) => `${extensionId}: ${reason}`).join("; ");
  return new SandboxerError("no_candidate", `no extension can take it. ${reasons || "None is configured"}`, {
    details: { rejected },
  });
}
