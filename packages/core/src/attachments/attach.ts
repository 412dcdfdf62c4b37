import {
  type AttachBody,
  type Attached,
  type Attachment,
  type AttachRequest,
  attachBodySchema,
  type CreateBody,
  newRowId,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import { needApproval } from "../approvals/need.ts";
import { create } from "../create.ts";
import type { House } from "../house.ts";
import { answerOnce, claimOf, type Once } from "../idempotency.ts";
import { wake } from "../lifecycle/sleep.ts";
import { tellGuard } from "../network/terms.ts";
import { parse } from "../parse.ts";
import { askOf } from "../place.ts";
import { authorize } from "../policy/authorize.ts";
import { findSandbox, locate } from "../reach.ts";
import type { Claim } from "../store/idempotency-store.ts";
import { inTurn } from "../turns.ts";
import { type Grants, grantWithin } from "./grants.ts";

/** Lets a principal or one of its conversations into a sandbox: a new one, a named one, or a label's. */
export async function attach(
  house: House,
  principal: Principal,
  body: AttachBody,
  once: Once = {},
): Promise<Attached> {
  authorize(principal.chain, "sandbox.attach");
  const wanted = parse(attachBodySchema, body);
  const claim = claimOf(house, principal, "sandbox.attach", body, once);
  const attachment = await answerOnce(house, claim, async () => {
    const sandbox = await sandboxFor(house, principal, wanted, once);
    const grants = await grantWithin(house, principal, sandbox, wanted);
    const said = { ...grants, conversation: wanted.conversation, name: wanted.name };
    if (wanted.mode === "chosen")
      await needApproval(house, principal, "sandbox.attach", { sandbox, spec: sandbox.spec, said });
    return join(house, principal, { sandbox, wanted, grants, claim });
  });
  return { attachment, sandbox: await findSandbox(house, principal, attachment.sandboxId) };
}

/** The key of the whole also stands for the sandbox, so that a crash between the two leaves one. */
async function sandboxFor(
  house: House,
  principal: Principal,
  wanted: AttachRequest,
  { idempotencyKey }: Once,
): Promise<Sandbox> {
  if (wanted.mode === "chosen") return findSandbox(house, principal, wanted.sandbox);
  const body = wanted.create as CreateBody;
  if ((wanted.mode === "shared") !== (body.reuse !== undefined)) {
    throw new SandboxerError("invalid_request", "create.reuse: said in the mode `shared`, and only there");
  }
  const inner =
    idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey.slice(0, 240)}/create` };
  return create(house, principal, body, inner);
}

async function join(
  house: House,
  principal: Principal,
  given: { sandbox: Sandbox; wanted: AttachRequest; grants: Grants; claim: Claim | undefined },
): Promise<Attachment> {
  const { sandbox, wanted, grants, claim } = given;
  const { name, conversation, hibernate } = wanted;
  const joined = await house.store.attach({
    attachment: {
      id: newRowId("att"),
      sandboxId: sandbox.id,
      orgId: principal.orgId,
      ...grants,
      ...(name !== undefined && { name }),
      ...(conversation !== undefined && { conversation }),
      byPrincipalId: principal.id,
      implicit: false,
      createdAtMs: house.clock.nowMs(),
    },
    claim,
    hibernate,
    ...(wanted.mode === "fresh" && { retentionMs: wanted.retentionMs }),
  });
  if (!joined) throw new SandboxerError("sandbox_gone", "it ended meanwhile");
  house.pass("attach.joined");
  await tellGuard(house, joined.sandbox);
  await welcome(house, principal, joined.sandbox, joined.returned);
  house.pass("attach.welcomed");
  return joined.attachment;
}

/** It gets its time back and wakes up. Killed before that, the next to come does it. */
async function welcome(
  house: House,
  principal: Principal,
  sandbox: Sandbox,
  returned: boolean,
): Promise<void> {
  const place = await locate(house, principal, "sandbox.attach", sandbox.id, ["running", "paused"]);
  const { expiresAtMs } = sandbox;
  if (returned && expiresAtMs !== undefined) {
    const ttlMs = Math.max(1, expiresAtMs - house.clock.nowMs());
    await inTurn(house, sandbox.id, () =>
      askOf(house, place, (extension, ref, context) => extension.extend(ref, ttlMs, context)),
    );
    house.reaper.forget(sandbox.id);
    house.reaper.watch(sandbox.id, expiresAtMs);
  }
  // Also what is about to fall asleep: it waits for that, and undoes it.
  if (place.extension.pause) await wake(house, place, { principalId: principal.id });
}
