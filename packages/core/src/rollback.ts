import {
  type Changes,
  type Principal,
  type RollbackOptions,
  type RolledBack,
  rollbackBodySchema,
  SandboxerError,
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
  const rolledBack = await goBack(changesOf(sandbox, box), asked, sandbox.name ?? sandbox.id);
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

/** What is missing is then a point, and no id. */
async function goBack(changes: Changes, asked: RollbackOptions, name: string): Promise<RolledBack> {
  try {
    return await changes.rollback(asked);
  } catch (error) {
    if (asked.to === undefined || !SandboxerError.is(error) || error.code !== "not_found") throw error;
    const hint = `\`sandboxer rollback ${name} --list\` shows where it can go.`;
    throw new SandboxerError(error.code, error.message, { hint, details: error.details, cause: error });
  }
}
