import {
  appliedSchema,
  applyBodySchema,
  changesBodySchema,
  pointsSchema,
  rollbackBodySchema,
  rolledBackSchema,
  syncedSchema,
  workspaceChangeSchema,
} from "@sandboxer/contract";
import { lineStream } from "./line-stream.ts";
import { sandboxParams } from "./parameters.ts";
import { route } from "./route.ts";

/** A sandbox's workspace: what was changed in it, and what becomes of that. */
export const workspaceRoutes = [
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/workspace/diff",
      operation: "sandbox.files",
      summary: "How the workspace differs from the host's folder",
      params: sandboxParams,
      body: changesBodySchema,
      answer: { type: "ndjson", schema: workspaceChangeSchema },
    },
    async ({ core, principal, report, params, body }) => {
      const changes = await core.diff(principal, params.id, body);
      const leave = () => void changes[Symbol.asyncIterator]().return?.();
      return { body: lineStream(changes, report, leave) };
    },
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/workspace/apply",
      operation: "workspace.apply",
      summary: "Bring the changes to the host's folder, all or nothing",
      params: sandboxParams,
      body: applyBodySchema,
      answer: { type: "json", status: 200, schema: appliedSchema },
    },
    ({ core, principal, params, body }) => core.apply(principal, params.id, body),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/workspace/rollback",
      operation: "sandbox.files",
      summary:
        "Take the changes back inside, to before anything ran, before a chosen run, or before the last",
      params: sandboxParams,
      body: rollbackBodySchema,
      answer: { type: "json", status: 200, schema: rolledBackSchema },
    },
    ({ core, principal, params, body }) => core.rollback(principal, params.id, body),
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes/{id}/workspace/points",
      operation: "sandbox.exec",
      summary: "Before which runs the workspace can be rolled back, and what each of them changed",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: pointsSchema },
    },
    ({ core, principal, params }) => core.listPoints(principal, params.id),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/workspace/sync",
      operation: "workspace.apply",
      summary: "Bring a mirror and the host's folder to the same, as happens around each command",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: syncedSchema },
    },
    ({ core, principal, params }) => core.sync(principal, params.id),
  ),
];
