import { type Attachment, type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { askToJoin, join } from "./joining.ts";

/**
 * Through which attachment a principal acts. What somebody else attached it with binds it for ever:
 * it cannot get around that by leaving, by naming another, or by naming none.
 */
export async function actingIn(house: House, principal: Principal, sandbox: Sandbox): Promise<Attachment> {
  const own = await house.store.attachmentsOf(sandbox.id, principal.id);
  const imposed = imposedOn(principal, own);
  const open = imposed.length > 0 ? imposed : own;
  const { attachmentId } = principal;
  if (attachmentId !== undefined) {
    const named = open.find(({ id }) => id === attachmentId);
    if (!named) throw new SandboxerError("not_found", `no attachment ${attachmentId} to this sandbox`);
    if (named.detachedAtMs !== undefined) deny("it has left the sandbox");
    return named;
  }
  if (imposed.length === 0) {
    const implicit = own.find((one) => one.implicit);
    if (implicit) return implicit;
    await askToJoin(house, principal, sandbox);
    return join(house, principal, sandbox);
  }
  const [only, ...more] = imposed.filter(({ detachedAtMs }) => detachedAtMs === undefined);
  if (!only) return deny("it has left the sandbox");
  if (more.length === 0) return only;
  throw new SandboxerError("invalid_request", "it is attached more than once; say which one acts", {
    details: { attachments: [only, ...more].map(({ id }) => id) },
    hint: "Name the attachment.",
  });
}

/** Whoever was let in by somebody else uses the sandbox, and does not decide about it. */
export async function refuseGuest(house: House, principal: Principal, sandbox: Sandbox): Promise<void> {
  if (imposedOn(principal, await house.store.attachmentsOf(sandbox.id, principal.id)).length > 0) {
    deny("whoever is attached to a sandbox by somebody else does not decide about it");
  }
}

export function imposedOn({ id }: Principal, own: readonly Attachment[]): Attachment[] {
  return own.filter(({ byPrincipalId }) => byPrincipalId !== id);
}

function deny(message: string): never {
  throw new SandboxerError("policy_denied", `attachment: ${message}`, { details: { rule: "attachment" } });
}
