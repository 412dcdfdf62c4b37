import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import { askToJoin } from "./attachments/joining.ts";
import { canonicalJson } from "./events/chain.ts";
import type { House } from "./house.ts";
import { wake } from "./lifecycle/sleep.ts";
import type { Narrowed } from "./narrow.ts";
import { locate } from "./reach.ts";
import type { Claim } from "./store/idempotency-store.ts";
import { LabelTaken } from "./store/store.ts";

const LOOK_EVERY_MS = 20;
const PATIENCE_MS = 120_000;

/** The living sandbox of the label, or a new one: of many who ask at once, one makes it. */
export async function reuseOr(
  house: House,
  principal: Principal,
  wanted: Narrowed,
  claim: Claim | undefined,
  make: (label: string | undefined) => Promise<Sandbox>,
): Promise<Sandbox> {
  if (!wanted.reuse) return make(undefined);
  const label = labelOf(principal, wanted);
  const deadline = house.clock.monotonicMs() + PATIENCE_MS;
  while (house.clock.monotonicMs() < deadline) {
    const found = await house.store.findLabelled(principal.orgId, label);
    const given = found
      ? await giveAgain(house, principal, { ...wanted, label, claim }, found)
      : await make(label).catch(unlessTaken);
    if (given) return given;
    await setTimeout(LOOK_EVERY_MS);
  }
  throw new SandboxerError("conflict", "the sandbox of this label is still being made", {
    hint: "Ask again.",
  });
}

/** `undefined` while it is still being made, and when it ended meanwhile. */
async function giveAgain(
  house: House,
  principal: Principal,
  wanted: Narrowed & { readonly label: string; readonly claim: Claim | undefined },
  found: Sandbox,
): Promise<Sandbox | undefined> {
  if (found.state !== "running" && found.state !== "paused") return undefined;
  refuseAnother(wanted, found);
  const place = await locate(house, principal, "sandbox.create", found.id, ["running", "paused"]);
  const { label, claim, consumer, reuse } = wanted;
  await askToJoin(house, principal, found, { reuse, consumer });
  if (found.state === "paused") await wake(house, place, { principalId: principal.id });
  const { orgId, id: principalId, keyId } = principal;
  const atMs = house.clock.nowMs();
  const data = { keyId, consumer };
  return house.store.reuseSandbox({ orgId, label, sandboxId: found.id, claim, principalId, atMs, data });
}

/**
 * What it is found under. The owner is part of it, so that nobody comes upon what is another's; so
 * is what the sandbox is, so that a changed profile gives another.
 */
function labelOf(principal: Principal, { reuse, visibility, profile, spec }: Narrowed): string {
  const { id, orgId, team } = principal;
  const owner = reuse?.scope !== "shared" ? id : visibility === "team" ? `${orgId}/${team}` : orgId;
  const what = profile?.digest ?? lasting(spec);
  return createHash("sha256")
    .update(canonicalJson([reuse?.scope, reuse?.key, owner, what]))
    .digest("hex");
}

/** Within one profile a request may still ask for less; what is there is then not what was asked. */
function refuseAnother({ spec }: Narrowed, found: Sandbox): void {
  if (lasting(spec) === lasting(found.spec)) return;
  throw new SandboxerError("conflict", "the living sandbox of this label was asked for differently", {
    details: { sandboxId: found.id },
    hint: "Ask for the same, or under another key.",
  });
}

/** How long it lives and what is written on it are the first asker's. */
function lasting({ ttlMs: _, labels: __, ...spec }: Sandbox["spec"]): string {
  return canonicalJson(spec);
}

function unlessTaken(error: unknown): undefined {
  if (!(error instanceof LabelTaken)) throw error;
}
