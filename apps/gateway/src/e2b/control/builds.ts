import { SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import type { Build } from "../builds/build.ts";
import { buildIdOf, builtVersions } from "../builds/built.ts";
import { buildSchema, runBuild } from "../builds/run.ts";
import { heavyEnough, logsWanted } from "./logs-wanted.ts";
import { may } from "./may.ts";
import { wholeIn } from "./query.ts";
import { type Call, control } from "./route.ts";
import { isReserved } from "./templates-known.ts";

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const TAG = /^[\w.-]{1,128}$/;
const MOST_ENTRIES = 100;

const wishSchema = z.object({
  name: z.string().max(200),
  tags: z.array(z.string().regex(TAG)).max(20).nullish(),
  cpuCount: z.int().positive().nullish(),
  memoryMB: z.int().positive().nullish(),
});

function found({ desk, principal, params }: Call<unknown>): Build {
  const build = desk.builds.find(principal, params.id ?? "", params.build ?? "");
  if (build) return build;
  throw new SandboxerError("not_found", "no such build");
}

const WHY = "the gateway ended while this was being built; build it again";

/** Of a build that this gateway has not seen: what it made is there, or there is no such build. */
async function state(call: Call<unknown>): Promise<Pick<Build, "id" | "name" | "status" | "log" | "reason">> {
  const { core, desk, principal, params } = call;
  const { id: name = "", build: id = "" } = params;
  if (desk.builds.find(principal, name, id)) return found(call);
  const made = await builtVersions(core, principal, name);
  if (made.some((one) => buildIdOf(one) === id)) return { id, name, status: "ready", log: [] };
  const cut = desk.builds.journal.interrupted(id);
  if (cut?.name === name && cut.principalId === principal.id) {
    const last = { timestamp: new Date().toISOString(), level: "error" as const, message: WHY };
    return { id, name, status: "error", reason: { message: WHY }, log: [last] };
  }
  return found(call);
}

export const buildRoutes = [
  control(
    { method: "POST", path: "/v3/templates", operation: "sandbox.create", body: wishSchema },
    async ({ core, desk, principal, body }) => {
      const [name = "", tag] = body.name.split(":");
      const tags = [...(tag === undefined ? [] : [tag]), ...(body.tags ?? [])];
      if (!NAME.test(name) || !tags.every((one) => TAG.test(one))) {
        throw new SandboxerError("invalid_request", "name: lower-case letters, digits, - and _, and a tag");
      }
      // The key is asked before anything is sent; core asks again when there is something to make.
      await core.explain(principal, {});
      await may({ core, principal }, "profile.publish");
      if (await isReserved(core, principal, name)) {
        throw new SandboxerError("conflict", `template '${name}' is a profile of this gateway's`);
      }
      const resources = {
        ...(body.cpuCount && { cpus: body.cpuCount }),
        ...(body.memoryMB && { memoryMiB: body.memoryMB }),
      };
      const named = tags.length > 0 ? tags : ["default"];
      const { id } = desk.builds.begin({ name, tags: named, principal, resources });
      const answer = { templateID: name, buildID: id, names: [name], aliases: [name], tags: named };
      return { status: 202, body: { ...answer, public: false } };
    },
  ),
  control(
    { method: "GET", path: "/templates/{id}/files/{hash}", operation: "sandbox.create" },
    async ({ desk, principal, params, origin }) => {
      const { id = "", hash = "" } = params;
      const build = desk.builds.waitingFor(principal, id);
      if (!build || !/^[\w-]{1,128}$/.test(hash)) throw new SandboxerError("not_found", "no such build");
      if (build.uploaded.has(hash)) return { status: 201, body: { present: true } };
      const url = `${origin}/templates/uploads/${desk.builds.allowUpload(build, hash)}`;
      return { status: 201, body: { present: false, url } };
    },
  ),
  control(
    {
      method: "POST",
      path: "/v2/templates/{id}/builds/{build}",
      operation: "sandbox.create",
      body: buildSchema,
    },
    async (call) => {
      const build = found(call);
      if (build.status !== "waiting") throw new SandboxerError("conflict", "this build was begun already");
      void runBuild(call.core, build, call.body, call.desk);
      return { status: 202, body: {} };
    },
  ),
  control(
    { method: "GET", path: "/templates/{id}/builds/{build}/status", operation: "sandbox.create" },
    async (call) => {
      const { query } = call;
      const offset = wholeIn(query, "logsOffset", { least: 0 }) ?? 0;
      const limit = wholeIn(query, "limit", { least: 0, most: MOST_ENTRIES }) ?? MOST_ENTRIES;
      const { id, name, status, log, reason } = await state(call);
      const logEntries = log.filter(heavyEnough(query)).slice(offset, offset + limit);
      const logs = logEntries.map(({ message }) => message);
      const more = reason && { reason: { ...reason, logEntries: [] } };
      return { status: 200, body: { buildID: id, templateID: name, status, logs, logEntries, ...more } };
    },
  ),
  control(
    { method: "GET", path: "/templates/{id}/builds/{build}/logs", operation: "sandbox.create" },
    async (call) => {
      const { limit, isForward, isWanted } = logsWanted(call.query, { most: MOST_ENTRIES, isForward: true });
      const found = (await state(call)).log.filter(isWanted);
      return { status: 200, body: { logs: (isForward ? found : found.toReversed()).slice(0, limit) } };
    },
  ),
];
