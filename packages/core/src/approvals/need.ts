import { createHash } from "node:crypto";
import {
  type Action,
  newRowId,
  type Principal,
  type Sandbox,
  SandboxerError,
  type SandboxSpec,
} from "@sandboxer/contract";
import { canonicalJson } from "../events/chain.ts";
import type { House } from "../house.ts";
import { SECOND_KEY_HINT } from "./may-decide.ts";

type Marked = NonNullable<SandboxSpec["approvals"]>[number];

interface Asked {
  readonly sandbox?: Pick<Sandbox, "id">;
  readonly spec: Pick<SandboxSpec, "approvals">;
  /** For whoever decides. */
  readonly said: Extract<Action, { kind: "operation" }>["said"];
  /** Everything that makes it this request and no other; what was said, unless there is more. */
  readonly exact?: unknown;
}

/** How long a question waits for somebody, and how long a yes waits to be used. */
export const OPERATION_PATIENCE_MS = 3_600_000;

/**
 * For a verb that does several: one question about the whole, before any of it is done. A yes is
 * used up by being used, so that a second question would take back the first.
 */
export async function needApprovalOfAll(
  house: House,
  principal: Principal,
  operations: readonly Marked[],
  asked: Asked,
): Promise<void> {
  const marked = operations.find((operation) => asked.spec.approvals?.includes(operation));
  if (marked) await needApproval(house, principal, marked, asked);
}

/**
 * Passes where the operation is not marked, or where somebody said yes to exactly this. Otherwise
 * the question is put, and the caller told to come back.
 */
export async function needApproval(
  house: House,
  principal: Principal,
  operation: Marked,
  { sandbox, spec, said, exact = said }: Asked,
): Promise<void> {
  if (!spec.approvals?.includes(operation)) return;
  const { orgId, id: principalId, kind = "agent", lineage } = principal;
  const digest = createHash("sha256")
    .update(canonicalJson([principalId, operation, sandbox?.id ?? null, exact]))
    .digest("hex");
  const atMs = house.clock.nowMs();
  if (await house.store.useApproval({ orgId, principalId, digest, atMs })) return;
  await house.store.expireApprovals(atMs);
  const { id, expiresAtMs } = await house.store.askApproval({
    id: newRowId("apr"),
    orgId,
    sandboxId: sandbox?.id,
    requesters: [{ principalId, kind }],
    lineage,
    action: { kind: "operation", operation, said: JSON.parse(JSON.stringify(said)) },
    digest,
    principalId,
    createdAtMs: atMs,
    expiresAtMs: atMs + OPERATION_PATIENCE_MS,
  });
  throw new SandboxerError("approval_required", `${operation} waits for somebody else's word: ${id}`, {
    details: { approvalId: id, expiresAtMs },
    ...(principal.chain.length === 1 && { hint: SECOND_KEY_HINT }),
  });
}
