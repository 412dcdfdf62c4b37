import {
  APPROVAL_STATES,
  approvalListSchema,
  approvalSchema,
  decideBodySchema,
  elevateBodySchema,
  rowIdSchema,
  sandboxSchema,
} from "@sandboxer/contract";
import { z } from "zod";
import { sandboxParams } from "./parameters.ts";
import { route } from "./route.ts";

const params = z.strictObject({ approval: rowIdSchema });
const one = { type: "json", status: 200, schema: approvalSchema } as const;

export const approvalRoutes = [
  route(
    {
      method: "GET",
      path: "/v1/approvals",
      operation: "approval.read",
      summary: "List what waits for somebody's word, or what became of it, newest first",
      query: z.strictObject({ state: z.enum(APPROVAL_STATES).optional() }),
      answer: { type: "json", status: 200, schema: approvalListSchema },
    },
    async ({ core, principal, query: { state } }) => ({
      approvals: await core.listApprovals(principal, state && [state]),
    }),
  ),
  route(
    {
      method: "GET",
      path: "/v1/approvals/{approval}",
      operation: "approval.read",
      summary: "Look at one question: exactly what is asked, by whom, and until when",
      params,
      answer: one,
    },
    ({ core, principal, params: { approval } }) => core.getApproval(principal, approval),
  ),
  route(
    {
      method: "POST",
      path: "/v1/approvals/{approval}/decide",
      operation: "approval.decide",
      summary: "Say yes or no, once; never by whoever asks",
      params,
      body: decideBodySchema,
      answer: one,
    },
    ({ core, principal, params: { approval }, body }) => core.decideApproval(principal, approval, body),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/elevations",
      operation: "sandbox.elevate",
      idempotent: true,
      summary: "Ask for more ways out of a sandbox, for a while; they open when somebody else says so",
      params: sandboxParams,
      body: elevateBodySchema,
      answer: { type: "json", status: 201, schema: approvalSchema },
    },
    ({ core, principal, params: { id }, body, once }) => core.elevate(principal, id, body, once),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/sandboxes/{id}/elevations",
      operation: "sandbox.elevate",
      summary: "Take back at once what was opened for a while",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: sandboxSchema },
    },
    ({ core, principal, params: { id } }) => core.endElevations(principal, id),
  ),
];
