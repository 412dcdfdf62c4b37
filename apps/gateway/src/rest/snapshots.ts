import {
  forkBodySchema,
  forkedSchema,
  importOptionsSchema,
  nameSchema,
  rowIdSchema,
  snapshotListSchema,
  snapshotSchema,
  takeSnapshotBodySchema,
} from "@sandboxer/contract";
import { z } from "zod";
import { byteStream } from "./byte-stream.ts";
import { sandboxParams } from "./parameters.ts";
import { route } from "./route.ts";

const snapshotParams = z.strictObject({ snapshot: z.union([rowIdSchema, nameSchema]) });

export const snapshotRoutes = [
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/snapshots",
      operation: "sandbox.snapshot",
      idempotent: true,
      summary: "Take a snapshot of a running sandbox",
      params: sandboxParams,
      body: takeSnapshotBodySchema,
      answer: { type: "json", status: 201, schema: snapshotSchema },
    },
    ({ core, principal, params, body, once }) => core.takeSnapshot(principal, params.id, body, once),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/fork",
      operation: "sandbox.snapshot",
      idempotent: true,
      summary: "Make so many new sandboxes as this one is now",
      params: sandboxParams,
      body: forkBodySchema,
      answer: { type: "json", status: 201, schema: forkedSchema },
    },
    async ({ core, principal, params, body, once }) => ({
      sandboxes: await core.fork(principal, params.id, body, once),
    }),
  ),
  route(
    {
      method: "GET",
      path: "/v1/snapshots",
      operation: "sandbox.read",
      summary: "List snapshots, newest first: all, or those with these labels (`key=value&key=value`)",
      query: z.strictObject({ labels: z.string().max(32_768).optional() }),
      answer: { type: "json", status: 200, schema: snapshotListSchema },
    },
    async ({ core, principal, query }) => {
      const labels = Object.fromEntries(new URLSearchParams(query.labels));
      return { snapshots: await core.listSnapshots(principal, { labels }) };
    },
  ),
  route(
    {
      method: "PUT",
      path: "/v1/snapshots",
      operation: "sandbox.snapshot",
      idempotent: true,
      summary: "Import a snapshot that was exported here or elsewhere",
      query: importOptionsSchema,
      body: "bytes",
      answer: { type: "json", status: 201, schema: snapshotSchema },
    },
    ({ core, principal, query, body, once }) => core.importSnapshot(principal, body, query, once),
  ),
  route(
    {
      method: "GET",
      path: "/v1/snapshots/{snapshot}/archive",
      operation: "sandbox.snapshot",
      summary: "Export a snapshot as one file",
      params: snapshotParams,
      answer: { type: "bytes" },
    },
    async ({ core, principal, params }) => ({
      body: byteStream(await core.exportSnapshot(principal, params.snapshot)),
    }),
  ),
  route(
    {
      method: "DELETE",
      path: "/v1/snapshots/{snapshot}",
      operation: "sandbox.snapshot",
      summary: "Delete a snapshot; sandboxes made from it stay",
      params: snapshotParams,
      answer: { type: "json", status: 200, schema: snapshotSchema },
    },
    ({ core, principal, params }) => core.deleteSnapshot(principal, params.snapshot),
  ),
];
