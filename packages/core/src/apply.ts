import {
  type Applied,
  type ApplyOptions,
  applyBodySchema,
  type Principal,
  type Sandbox,
} from "@sandboxer/contract";
import { exactChanges } from "./approvals/exact-changes.ts";
import { needApproval } from "./approvals/need.ts";
import { refuseGuest } from "./attachments/acting.ts";
import { askToJoin } from "./attachments/joining.ts";
import { changesOf } from "./changes.ts";
import type { House } from "./house.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

/** The log names this many of the paths. */
const NAMED_AT_MOST = 100;

/** The one way by which anything of a copy-on-write workspace reaches the host. */
export async function apply(
  house: House,
  principal: Principal,
  idOrName: string,
  options: ApplyOptions = {},
): Promise<Applied> {
  authorize(principal.chain, "workspace.apply");
  const asked = parse(applyBodySchema, options);
  const { sandbox, box } = await reach(house, principal, "workspace.apply", idOrName);
  await refuseGuest(house, principal, sandbox);
  await askToJoin(house, principal, sandbox);
  if (sandbox.spec.approvals?.includes("workspace.apply")) {
    const said = { ...asked, ...(await exactChanges(sandbox, box, asked.paths)) };
    await needApproval(house, principal, "workspace.apply", { sandbox, spec: sandbox.spec, said });
  }
  const applied = await changesOf(sandbox, box).apply(asked);
  await recordApplied(house, sandbox, applied, { principalId: principal.id, force: asked.force });
  return applied;
}

/** Without a principal where whoever asked for it died before it was told. */
export async function recordApplied(
  house: House,
  { id, orgId, spec }: Sandbox,
  { applied, paths }: Applied,
  { principalId, force }: { readonly principalId?: string; readonly force?: boolean } = {},
): Promise<void> {
  const { source } = spec.workspace ?? {};
  await house.journal.record({
    type: "workspace.applied",
    orgId,
    atMs: house.clock.nowMs(),
    sandboxId: id,
    principalId,
    data: { source, force, applied, paths: paths.slice(0, NAMED_AT_MOST) },
  });
}
