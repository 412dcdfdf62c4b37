import { newRowId, type Principal } from "@sandboxer/contract";
import { effectiveRights } from "../policy/effective.ts";
import type { NewAttachment } from "../store/attachment-store.ts";

/** What a principal's use of a sandbox is when nobody said otherwise: as much as its key may. */
export function implicitAttachment(
  { id: principalId, orgId, chain }: Principal,
  sandboxId: string,
  createdAtMs: number,
): NewAttachment {
  const { access = "read-write", network, secrets } = effectiveRights(chain);
  return {
    id: newRowId("att"),
    sandboxId,
    orgId,
    principalId,
    access,
    ...(network && { rules: network }),
    ...(secrets && { secrets }),
    byPrincipalId: principalId,
    implicit: true,
    createdAtMs,
  };
}
