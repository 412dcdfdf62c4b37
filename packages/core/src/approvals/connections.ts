import { setTimeout as sleep } from "node:timers/promises";
import {
  type Approval,
  type Guard,
  type GuardAsk,
  newRowId,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { tellGuard } from "../network/terms.ts";

/** The word may be given to another process of this installation, so the store is looked at. */
const LOOK_EVERY_MS = 200;

/** Puts what the guard is asked about to whoever may decide, and answers no when nobody does. */
export function answerAsks(house: House, guard: Guard): void {
  guard.onAsk((ask) => {
    settle(house, ask).then(ask.answer, (error) => {
      ask.answer(false);
      house.report("asking about a connection", SandboxerError.from(error));
    });
  });
}

async function settle(house: House, { sandboxId, call, left }: GuardAsk): Promise<boolean> {
  const sandbox = await house.store.getSandboxById(sandboxId);
  if (!sandbox) return false;
  const id = newRowId("apr");
  const { orgId } = sandbox;
  const createdAtMs = house.clock.nowMs();
  const expiresAtMs = createdAtMs + house.askPatienceMs;
  const requesters = await requestersOf(house, sandbox, call.attachmentId);
  const owner = await house.store.findPrincipal(sandbox.principalId);
  const { kind, ...asked } = call;
  await house.store.askApproval({
    id,
    orgId,
    sandboxId,
    requesters,
    lineage: owner?.lineage ?? [sandbox.principalId],
    action: { ...asked, kind },
    // Each waits for a word of its own.
    digest: id,
    createdAtMs,
    expiresAtMs,
  });
  let hasLeft = false;
  const leaving = left.then(() => {
    hasLeft = true;
  });
  for (;;) {
    if (hasLeft) {
      // Also when everything is about to close: then it runs out by itself.
      await house.store.withdrawApproval(id, house.clock.nowMs()).catch(() => {});
      return false;
    }
    const now = await house.store.getApproval(orgId, id);
    if (now?.state !== "pending") return now?.state === "used" && isHeard(house, sandboxId, now);
    if (house.clock.nowMs() >= expiresAtMs) await house.store.expireApprovals(house.clock.nowMs());
    else await Promise.race([leaving, sleep(LOOK_EVERY_MS, undefined, { ref: false })]);
  }
}

/** With a yes for the sandbox comes a rule, which this process's guard may not know of yet. */
async function isHeard(house: House, sandboxId: string, { scope }: Approval): Promise<boolean> {
  const sandbox = scope === "sandbox" ? await house.store.getSandboxById(sandboxId) : undefined;
  if (sandbox) await tellGuard(house, sandbox);
  return true;
}

/** Whoever it was; where users are not told apart, everybody who may have been. */
async function requestersOf(
  house: House,
  sandbox: Sandbox,
  attachmentId: string | undefined,
): Promise<Approval["requesters"]> {
  const living = (await house.store.listAttachments(sandbox.id)).filter(
    (one) => one.detachedAtMs === undefined,
  );
  const acting = living.filter((one) => (attachmentId ? one.id === attachmentId : one.uid === undefined));
  const ids = new Set([
    ...acting.map(({ principalId }) => principalId),
    ...(attachmentId ? [] : [sandbox.principalId]),
  ]);
  return Promise.all(
    [...ids].map(async (principalId) => {
      const kind = (await house.store.findPrincipal(principalId))?.kind ?? "agent";
      return { principalId, kind };
    }),
  );
}
