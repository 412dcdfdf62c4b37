import {
  APPROVAL_STATES,
  type Approval,
  type ApprovalState,
  approvalSchema,
  type Principal,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { authorize } from "../policy/authorize.ts";
import { viewerOf } from "../reach.ts";
import type { KeptApproval } from "../store/approval-store.ts";
import { mayDecide, standsBesideRoot } from "./may-decide.ts";

const MOST = 200;

/** Newest first: what waits, or what became of it. */
export async function listApprovals(
  house: House,
  principal: Principal,
  states: readonly ApprovalState[] = APPROVAL_STATES,
): Promise<Approval[]> {
  authorize(principal.chain, "approval.read");
  await house.store.expireApprovals(house.clock.nowMs());
  const all = await house.store.listApprovals(principal.orgId, states, MOST);
  const seen = await Promise.all(all.map((one) => sees(house, principal, one)));
  return all.filter((_, at) => seen[at]).map((one) => shown(one, principal));
}

export async function getApproval(house: House, principal: Principal, approvalId: string): Promise<Approval> {
  authorize(principal.chain, "approval.read");
  return shown(await findApproval(house, principal, approvalId), principal);
}

/** Of others it is as absent as one that never was. */
export async function findApproval(
  house: House,
  principal: Principal,
  approvalId: string,
): Promise<KeptApproval> {
  await house.store.expireApprovals(house.clock.nowMs());
  const found = await house.store.getApproval(principal.orgId, approvalId);
  if (found && (await sees(house, principal, found))) return found;
  throw new SandboxerError("not_found", `no approval ${approvalId}`);
}

/** Whoever asked, everybody above, whoever sees the sandbox, and whom a root key has made to decide. */
async function sees(
  house: House,
  principal: Principal,
  { lineage, sandboxId, requesters }: KeptApproval,
): Promise<boolean> {
  if (lineage.includes(principal.id) || standsBesideRoot(principal, { requesters })) return true;
  if (sandboxId === undefined) return false;
  return (await house.store.getSandbox(principal.orgId, sandboxId, viewerOf(principal))) !== undefined;
}

/** As somebody sees it, who may have something to say. */
export function shown({ digest: _, lineage: __, ...approval }: KeptApproval, viewer: Principal): Approval {
  const isOpen = approval.state === "pending" && holds(viewer) && mayDecide(viewer, approval);
  return approvalSchema.parse({ ...approval, ...(isOpen && { isYours: true }) });
}

function holds({ chain }: Principal): boolean {
  return chain.every(({ operations }) => operations?.includes("approval.decide") ?? true);
}
