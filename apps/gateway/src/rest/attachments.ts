import {
  attachBodySchema,
  attachedSchema,
  attachmentListSchema,
  attachmentSchema,
  rowIdSchema,
} from "@sandboxer/contract";
import { z } from "zod";
import { sandboxParams } from "./parameters.ts";
import { route } from "./route.ts";

export const attachmentRoutes = [
  route(
    {
      method: "POST",
      path: "/v1/attachments",
      operation: "sandbox.attach",
      idempotent: true,
      summary: "Attach an agent or a conversation to a sandbox: a fresh, a chosen or a shared one",
      body: attachBodySchema,
      answer: { type: "json", status: 201, schema: attachedSchema },
    },
    ({ core, principal, body, once }) => core.attach(principal, body, once),
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes/{id}/attachments",
      operation: "sandbox.read",
      summary: "List who uses a sandbox, and who did",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: attachmentListSchema },
    },
    async ({ core, principal, params }) => ({
      attachments: await core.listAttachments(principal, params.id),
    }),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/attachments/{attachment}",
      operation: "sandbox.attach",
      summary: "Detach; the last to leave puts the sandbox to sleep",
      params: z.strictObject({ attachment: rowIdSchema }),
      answer: { type: "json", status: 200, schema: attachmentSchema },
    },
    ({ core, principal, params }) => core.detach(principal, params.attachment),
  ),
];
