import {
  type Approval,
  type ApprovalState,
  approvalListSchema,
  approvalSchema,
  type DecideBody,
} from "@sandboxer/contract";
import type { Transport } from "./transport.ts";

/** What waits for somebody's word. */
export interface Approvals {
  /** Newest first; of every state, unless one is named. */
  list(query?: { readonly state?: ApprovalState }): Promise<readonly Approval[]>;
  get(approvalId: string): Promise<Approval>;
  /** Once, and never by whoever asks. `sandbox` allows the same there from now on. */
  approve(approvalId: string, scope?: DecideBody["scope"]): Promise<Approval>;
  deny(approvalId: string): Promise<Approval>;
}

export function openApprovals(transport: Transport): Approvals {
  const at = (id: string) => `/v1/approvals/${encodeURIComponent(id)}`;
  const decide = (id: string, json: DecideBody) =>
    transport.ask(approvalSchema, "POST", `${at(id)}/decide`, { json });
  return {
    async list(query = {}) {
      return (await transport.ask(approvalListSchema, "GET", "/v1/approvals", { query })).approvals;
    },
    get: (id) => transport.ask(approvalSchema, "GET", at(id)),
    approve: (id, scope = "once") => decide(id, { decision: "approve", scope }),
    deny: (id) => decide(id, { decision: "deny" }),
  };
}
