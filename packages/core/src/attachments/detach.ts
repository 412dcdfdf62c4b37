import { type Attachment, type Principal, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { tellGuard } from "../network/terms.ts";
import { authorize } from "../policy/authorize.ts";
import { findSandbox } from "../reach.ts";
import { settleForsaken } from "./forsaken.ts";

/** By whoever attached it, by itself, or by whom the sandbox is. Of what left already, succeeds. */
export async function detach(house: House, principal: Principal, attachmentId: string): Promise<Attachment> {
  authorize(principal.chain, "sandbox.attach");
  const absent = () => new SandboxerError("not_found", `no attachment ${attachmentId}`);
  const attachment = await house.store.getAttachment(principal.orgId, attachmentId);
  if (!attachment || attachment.implicit) throw absent();
  const { principalId, byPrincipalId, sandboxId } = attachment;
  const sandbox = await house.store.getSandboxById(sandboxId);
  const sees = await house.store.getSandbox(principal.orgId, sandboxId, { principalId: principal.id });
  const mayEnd = [principalId, byPrincipalId, sandbox?.principalId].some((id) => id === principal.id);
  if (!sees && !mayEnd) throw absent();
  if (!mayEnd && !(await isAbove(house, principal, principalId))) {
    throw new SandboxerError("policy_denied", "attachment: it is another's to end", {
      details: { rule: "attachment" },
    });
  }
  const detached = await house.store.detach({
    attachmentId,
    atMs: house.clock.nowMs(),
    principalId: principal.id,
  });
  house.pass("detach.left");
  if (detached && sandbox) await tellGuard(house, sandbox);
  if (detached) await settleForsaken(house);
  house.pass("detach.settled");
  return detached ?? (await house.store.getAttachment(principal.orgId, attachmentId)) ?? attachment;
}

async function isAbove(house: House, { orgId, keyId }: Principal, principalId: string): Promise<boolean> {
  const keys = await house.store.listKeys(orgId, keyId);
  return keys.some(({ principal }) => principal.id === principalId);
}

/** Those that were asked for and those that a first use made, also those that left. */
export async function listAttachments(
  house: House,
  principal: Principal,
  idOrName: string,
): Promise<Attachment[]> {
  authorize(principal.chain, "sandbox.read");
  const { id } = await findSandbox(house, principal, idOrName);
  return house.store.listAttachments(id);
}
