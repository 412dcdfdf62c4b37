import {
  createRequestSchema,
  extendBodySchema,
  listAnswerSchema,
  listQuerySchema,
  metricsSchema,
  reachabilitySchema,
  receiptSchema,
  sandboxSchema,
} from "@sandboxer/contract";
import { sandboxParams } from "./parameters.ts";
import { route } from "./route.ts";

export const sandboxRoutes = [
  route(
    {
      method: "POST",
      path: "/v1/sandboxes",
      operation: "sandbox.create",
      summary: "Create a sandbox",
      idempotent: true,
      body: createRequestSchema,
      answer: { type: "json", status: 201, schema: sandboxSchema },
    },
    ({ core, principal, body, once }) => core.create(principal, body, once),
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes",
      operation: "sandbox.read",
      summary: "List sandboxes, newest first",
      query: listQuerySchema,
      answer: { type: "json", status: 200, schema: listAnswerSchema },
    },
    async ({ core, principal, query: { state, name, limit, after } }) => {
      const page = await core.list(principal, {
        limit,
        ...(state && { states: state }),
        ...(name && { name }),
        ...(after && { after }),
      });
      return { ...page, sandboxes: [...page.sandboxes] };
    },
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes/{id}",
      operation: "sandbox.read",
      summary: "Look at one sandbox",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: sandboxSchema },
    },
    ({ core, principal, params }) => core.get(principal, params.id),
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes/{id}/receipt",
      operation: "sandbox.read",
      summary: "Where it ran and why, what it reached, how long, what it cost, and for whom",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: receiptSchema },
    },
    ({ core, principal, params }) => core.receipt(principal, params.id),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/recreate",
      operation: "sandbox.create",
      idempotent: true,
      summary: "End a sandbox and make another that was asked for in the same words",
      params: sandboxParams,
      answer: { type: "json", status: 201, schema: sandboxSchema },
    },
    ({ core, principal, params, once }) => core.recreate(principal, params.id, once),
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes/{id}/reachability",
      operation: "sandbox.read",
      summary: "How to get to a sandbox, as data",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: reachabilitySchema },
    },
    ({ core, principal, params }) => core.reachability(principal, params.id),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/pause",
      operation: "sandbox.pause",
      summary: "Stop every process of a sandbox where it is",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: sandboxSchema },
    },
    ({ core, principal, params }) => core.pause(principal, params.id),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/extend",
      operation: "sandbox.extend",
      summary: "Move a sandbox's end to so long from now, and reserve what that costs",
      params: sandboxParams,
      body: extendBodySchema,
      answer: { type: "json", status: 200, schema: sandboxSchema },
    },
    ({ core, principal, params, body }) => core.extend(principal, params.id, body),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/resume",
      operation: "sandbox.pause",
      summary: "Let a paused sandbox go on",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: sandboxSchema },
    },
    ({ core, principal, params }) => core.resume(principal, params.id),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/stop",
      operation: "sandbox.pause",
      summary: "End every process of a persistent sandbox and keep its files",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: sandboxSchema },
    },
    ({ core, principal, params }) => core.stop(principal, params.id),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/start",
      operation: "sandbox.pause",
      summary: "Start a stopped sandbox over its files; of a paused one, as resume",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: sandboxSchema },
    },
    ({ core, principal, params }) => core.resume(principal, params.id),
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes/{id}/metrics",
      operation: "sandbox.read",
      summary: "What a sandbox uses, counted outside of it",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: metricsSchema },
    },
    ({ core, principal, params }) => core.metrics(principal, params.id),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/sandboxes/{id}",
      operation: "sandbox.destroy",
      summary: "Destroy a sandbox and everything in it",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: sandboxSchema },
    },
    ({ core, principal, params }) => core.destroy(principal, params.id),
  ),
];
