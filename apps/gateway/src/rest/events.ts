import {
  auditSchema,
  createdWebhookSchema,
  createWebhookBodySchema,
  emptySchema,
  eventPageSchema,
  eventSchema,
  rowIdSchema,
  SandboxerError,
  webhookListSchema,
} from "@sandboxer/contract";
import { z } from "zod";
import { count } from "./parameters.ts";
import { route } from "./route.ts";
import { serverSent } from "./server-sent.ts";

export const eventRoutes = [
  route(
    {
      method: "GET",
      path: "/v1/events",
      operation: "event.read",
      summary: "Follow the log as server-sent events, from Last-Event-ID or `after`",
      query: z.strictObject({ after: count.optional() }),
      answer: { type: "sse", schema: eventSchema },
    },
    async ({ core, principal, query, lastEventId, report }) => {
      const after = lastEventId === undefined ? query.after : seqOf(lastEventId);
      const events = await core.followEvents(principal, after === undefined ? {} : { after });
      return { body: serverSent(events, report) };
    },
  ),
  route(
    {
      method: "GET",
      path: "/v1/events/page",
      operation: "event.read",
      summary: "Read the log, oldest first, as one answer",
      query: z.strictObject({ after: count.optional(), limit: count.optional() }),
      answer: { type: "json", status: 200, schema: eventPageSchema },
    },
    async ({ core, principal, query: { after = 0, limit = 200 } }) => ({
      events: await core.listEvents(principal, { after, limit }),
    }),
  ),
  route(
    {
      method: "GET",
      path: "/v1/audit/verify",
      operation: "event.read",
      summary: "Walk the org's whole log and say whether it is as it was written",
      answer: { type: "json", status: 200, schema: auditSchema },
    },
    ({ core, principal }) => core.verifyAudit(principal),
  ),
  route(
    {
      method: "POST",
      path: "/v1/webhooks",
      operation: "webhook.write",
      idempotent: true,
      summary: "Send every event there from now on, signed; the secret is only in this answer",
      body: createWebhookBodySchema,
      answer: { type: "json", status: 201, schema: createdWebhookSchema },
    },
    ({ core, principal, body, once }) => core.createWebhook(principal, body, once),
  ),
  route(
    {
      method: "GET",
      path: "/v1/webhooks",
      operation: "webhook.write",
      summary: "List webhooks and how they fare",
      answer: { type: "json", status: 200, schema: webhookListSchema },
    },
    async ({ core, principal }) => ({ webhooks: await core.listWebhooks(principal) }),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/webhooks/{webhook}",
      operation: "webhook.write",
      summary: "Send nothing there any more",
      params: z.strictObject({ webhook: rowIdSchema }),
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params }) => {
      await core.deleteWebhook(principal, params.webhook);
      return {};
    },
  ),
];

function seqOf(lastEventId: string): number {
  if (/^\d{1,15}$/.test(lastEventId)) return Number(lastEventId);
  throw new SandboxerError("invalid_request", "Last-Event-ID: a number, as the stream gave it");
}
