import {
  emptySchema,
  execBodySchema,
  execLineSchema,
  processListSchema,
  signalBodySchema,
  terminalSizeSchema,
} from "@sandboxer/contract";
import { z } from "zod";
import { eventStream } from "./event-stream.ts";
import { count, flag, processParams, sandboxParams } from "./parameters.ts";
import { route } from "./route.ts";

export const processRoutes = [
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/exec",
      operation: "sandbox.exec",
      summary: "Start a command and stream its output",
      params: sandboxParams,
      body: execBodySchema,
      answer: { type: "ndjson", schema: execLineSchema },
    },
    async ({ core, processes, principal, report, params, body }) => {
      const process = await core.exec(principal, params.id, body);
      const release = processes.hold(principal, params.id, process);
      return { body: eventStream(process, report, { isAwaited: body.stdin || !!body.pty, release }) };
    },
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes/{id}/processes",
      operation: "sandbox.exec",
      summary: "List the commands that run, and the last that ended",
      params: sandboxParams,
      answer: { type: "json", status: 200, schema: processListSchema },
    },
    async ({ core, principal, params }) => ({ processes: await core.ps(principal, params.id) }),
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/processes/{process}/resize",
      operation: "sandbox.exec",
      summary: "Change the size of a command's terminal",
      params: processParams,
      body: terminalSizeSchema,
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ core, principal, params, body }) => {
      await core.resize(principal, params.id, params.process, body);
      return {};
    },
  ),
  route(
    {
      method: "GET",
      path: "/v1/sandboxes/{id}/processes/{process}/output",
      operation: "sandbox.exec",
      summary: "Go on reading a command's output, from offsets",
      params: processParams,
      query: z.strictObject({ stdout: count.optional(), stderr: count.optional() }),
      answer: { type: "ndjson", schema: execLineSchema },
    },
    async ({ core, processes, principal, report, params, query }) => {
      const from = {
        ...(query.stdout !== undefined && { stdout: query.stdout }),
        ...(query.stderr !== undefined && { stderr: query.stderr }),
      };
      const process = await core.attachProcess(principal, params.id, params.process, from);
      const release = processes.hold(principal, params.id, process);
      return { body: eventStream(process, report, { isAwaited: true, release }) };
    },
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/processes/{process}/stdin",
      operation: "sandbox.exec",
      summary: "Write to a command's standard input",
      params: processParams,
      query: z.strictObject({ end: flag.optional() }),
      body: "bytes",
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ processes, principal, params, query, body }) => {
      const process = await processes.reach(principal, params.id, params.process);
      for await (const chunk of body) await process.writeStdin(chunk);
      if (query.end) await process.closeStdin();
      return {};
    },
  ),
  route(
    {
      method: "POST",
      path: "/v1/sandboxes/{id}/processes/{process}/signal",
      operation: "sandbox.exec",
      summary: "Send a signal to a command and its children",
      params: processParams,
      body: signalBodySchema,
      answer: { type: "json", status: 200, schema: emptySchema },
    },
    async ({ processes, principal, params, body }) => {
      const process = await processes.reach(principal, params.id, params.process);
      await process.signal(body.signal);
      return {};
    },
  ),
];
