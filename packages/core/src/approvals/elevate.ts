import {
  type Approval,
  type ElevateBody,
  elevateBodySchema,
  newRowId,
  type Principal,
  type Sandbox,
} from "@sandboxer/contract";
import { refuseGuest } from "../attachments/acting.ts";
import type { House } from "../house.ts";
import { claimOf, type Once } from "../idempotency.ts";
import { tellGuard } from "../network/terms.ts";
import { wayOutOf } from "../network/way-out.ts";
import { parse } from "../parse.ts";
import { answerPlanned } from "../planned.ts";
import { authorize } from "../policy/authorize.ts";
import { locate } from "../reach.ts";
import { shown } from "./approvals.ts";
import { OPERATION_PATIENCE_MS } from "./need.ts";

/** Asks for more ways out of one sandbox, for a while. They open when somebody else says so. */
export async function elevate(
  house: House,
  principal: Principal,
  idOrName: string,
  body: ElevateBody,
  once: Once = {},
): Promise<Approval> {
  authorize(principal.chain, "sandbox.elevate");
  const claim = claimOf(house, principal, "sandbox.elevate", [idOrName, body], once);
  return answerPlanned(house, claim, {
    plan: async (_left?: { readonly id: string }) => ({ id: newRowId("apr") }),
    work: ({ id }) => askFor(house, principal, idOrName, body, id),
    async recall({ id }) {
      const asked = await house.store.getApproval(principal.orgId, id);
      return asked && shown(asked, principal);
    },
  });
}

async function askFor(
  house: House,
  principal: Principal,
  idOrName: string,
  body: ElevateBody,
  id: string,
): Promise<Approval> {
  const { rules, durationMs, reason } = parse(elevateBodySchema, body);
  const { sandbox } = await locate(house, principal, "sandbox.elevate", idOrName, ["running", "paused"]);
  wayOutOf(sandbox);
  const { orgId, id: principalId, kind = "agent", lineage } = principal;
  const createdAtMs = house.clock.nowMs();
  const approval = await house.store.askApproval({
    id,
    orgId,
    sandboxId: sandbox.id,
    requesters: [{ principalId, kind }],
    lineage,
    action: { kind: "elevation", rules, durationMs, reason },
    digest: id,
    principalId,
    createdAtMs,
    expiresAtMs: createdAtMs + OPERATION_PATIENCE_MS,
  });
  return shown(approval, principal);
}

/** Takes back what was opened for a while, before its time. */
export async function endElevations(house: House, principal: Principal, idOrName: string): Promise<Sandbox> {
  authorize(principal.chain, "sandbox.elevate");
  const { sandbox } = await locate(house, principal, "sandbox.elevate", idOrName, ["running", "paused"]);
  await refuseGuest(house, principal, sandbox);
  wayOutOf(sandbox);
  const atMs = house.clock.nowMs();
  await house.store.endElevations({ sandboxId: sandbox.id, principalId: principal.id, atMs });
  await tellGuard(house, sandbox);
  return sandbox;
}
