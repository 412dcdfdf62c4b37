import {
  type Principal,
  type RollbackOptions,
  type RolledBack,
  rollbackBodySchema,
} from "@sandboxer/contract";
import { actingIn } from "./attachments/acting.ts";
import { refuseReadOnly } from "./attachments/confine.ts";
import { changesOf } from "./changes.ts";
import type { House } from "./house.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";

export async function rollback(
  house: House,
  principal: Principal,
  idOrName: string,
  options: RollbackOptions = {},
): Promise<RolledBack> {
  authorize(principal.chain, "sandbox.files");
  const asked = parse(rollbackBodySchema, options);
  const { sandbox, box } = await reach(house, principal, "sandbox.files", idOrName);
  refuseReadOnly(await actingIn(house, principal, sandbox), "take changes back");
  const rolledBack = await changesOf(sandbox, box).rollback(asked);
  house.pass("rollback.done");
  await house.journal.record({
    type: "workspace.rolled-back",
    orgId: sandbox.orgId,
    atMs: house.clock.nowMs(),
    sandboxId: sandbox.id,
    principalId: principal.id,
    data: { ...rolledBack, ...(asked.to !== undefined && { to: asked.to }) },
  });
  return rolledBack;
}
