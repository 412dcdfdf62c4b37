import { type Principal, SandboxerError } from "@sandboxer/contract";
import type { KeptApproval } from "../store/approval-store.ts";

type Asked = Pick<KeptApproval, "requesters" | "action">;

/** What to do where nobody is above whoever asks. */
export const SECOND_KEY_HINT =
  "Nobody is above a root key. It makes a second key that decides about what it asks for: `sandboxer keys create --name second --kind user --operations approval.read,approval.decide`.";

/**
 * Nobody decides about what is asked for by itself, or by a key that it derived from. Only a person
 * may decide what a program in that person's own sandbox asks for: the program is somebody else.
 */
export function refuseRequester(principal: Principal, asked: Asked): void {
  if (mayDecide(principal, asked)) return;
  const { lineage } = principal;
  throw new SandboxerError("policy_denied", "whoever asks does not decide, nor does a key derived from it", {
    details: { rule: "requester" },
    hint: lineage.length === 1 ? SECOND_KEY_HINT : "Ask somebody above, or beside.",
  });
}

export function mayDecide(principal: Principal, { requesters, action }: Asked): boolean {
  if (standsBesideRoot(principal, { requesters })) return true;
  const { lineage, kind } = principal;
  const isProgram = action.kind !== "operation" && action.kind !== "elevation";
  const own = requesters.filter(({ principalId }) => lineage.includes(principalId));
  return own.every((one) => isProgram && one.kind === "user" && kind === "user");
}

/**
 * A root key has nobody above it and nobody beside it. The person whom it has given a key that
 * decides, by that very word, decides about what it asks for; both keys are in the log.
 */
export function standsBesideRoot(
  { lineage, kind, chain }: Principal,
  { requesters }: Pick<Asked, "requesters">,
): boolean {
  const [root] = lineage;
  return (
    kind === "user" &&
    lineage.length === 2 &&
    (chain.at(-1)?.operations?.includes("approval.decide") ?? false) &&
    requesters.every(({ principalId }) => principalId === root)
  );
}
