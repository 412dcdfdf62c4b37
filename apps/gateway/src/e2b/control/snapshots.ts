import { type Principal, SandboxerError, type Snapshot } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { z } from "zod";
import { builtVersions } from "../builds/built.ts";
import { TEMPLATE_LABEL } from "../builds/run.ts";
import type { Desk } from "../desk.ts";
import { timeoutSchema } from "./ask.ts";
import { findLiving } from "./find.ts";
import { runFor } from "./lifecycle.ts";
import { may } from "./may.ts";
import { pageOf } from "./page.ts";
import { control } from "./route.ts";
import { findSnapshot, isTemplate } from "./templates-known.ts";
import { connectionView } from "./view.ts";

const MOST_FORKS = 100;

const view = ({ id, name }: Snapshot) => ({ snapshotID: id, names: name === undefined ? [] : [name] });

export const snapshotRoutes = [
  control(
    {
      method: "POST",
      path: "/sandboxes/{id}/snapshots",
      operation: "sandbox.snapshot",
      body: z.object({ name: z.string().nullish() }),
    },
    async ({ core, principal, params, body }) => {
      const { id } = await findLiving(core, principal, params.id ?? "");
      const named = typeof body.name === "string" ? { name: body.name } : {};
      return { status: 201, body: view(await core.takeSnapshot(principal, id, named)) };
    },
  ),
  control(
    { method: "GET", path: "/snapshots", operation: "sandbox.read" },
    async ({ core, principal, query }) => {
      const [sandboxId, name] = [query.get("sandboxID"), query.get("name")];
      const all = (await core.listSnapshots(principal))
        .filter(({ labels }) => labels[TEMPLATE_LABEL] === undefined)
        .filter((one) => sandboxId === null || one.sandboxId === sandboxId)
        .filter((one) => name === null || one.name === name || one.id === name)
        .sort((one, other) => other.createdAtMs - one.createdAtMs);
      const { page, headers = {} } = pageOf(all, query, ({ id, createdAtMs }) => ({ id, atMs: createdAtMs }));
      return { status: 200, body: page.map(view), headers };
    },
  ),
  control(
    { method: "DELETE", path: "/templates/{id}", operation: "sandbox.snapshot" },
    async ({ core, desk, principal, params }) => {
      const { id = "" } = params;
      const snapshot = await findSnapshot(core, principal, id);
      if (snapshot) await core.deleteSnapshot(principal, snapshot.id);
      else await withdraw(core, desk, principal, id);
      return { status: 204 };
    },
  ),
  control(
    {
      method: "POST",
      path: "/sandboxes/{id}/fork",
      operation: "sandbox.create",
      body: z.object({ timeout: timeoutSchema.optional(), count: z.int().min(1).max(MOST_FORKS).optional() }),
    },
    async ({ core, desk, principal, params, body }) => {
      const { id } = await findLiving(core, principal, params.id ?? "");
      // Each gets an end of its own; who may not give it one makes none.
      await may({ core, principal }, "sandbox.extend");
      const forks = await core.fork(principal, id, { count: body.count ?? 1 });
      const made = forks.map(async (fork) => {
        const sandbox = await runFor(core, principal, fork, body.timeout ?? DEFAULT_FORK_S);
        desk.autoPause.watch(sandbox);
        return { sandbox: await connectionView(core, desk, principal, sandbox) };
      });
      try {
        return { status: 201, body: await Promise.all(made) };
      } catch (error) {
        await Promise.allSettled(forks.map((fork) => core.destroy(principal, fork.id)));
        throw error;
      }
    },
  ),
];

const DEFAULT_FORK_S = 15;

/** A profile is never deleted: of a built one nothing new is made any more, and what it was is cleared away. */
async function withdraw(core: Core, desk: Desk, principal: Principal, id: string): Promise<void> {
  const versions = await builtVersions(core, principal, id);
  if (versions.length === 0) {
    if (!(await isTemplate(core, principal, id, desk.tags))) {
      throw new SandboxerError("not_found", `template '${id}' not found`);
    }
    throw new SandboxerError("policy_denied", `template '${id}' is a profile, and those stay`);
  }
  for (const { name, version, resolved } of versions) {
    await core.deprecateProfile(principal, `${name}@${version}`);
    if (resolved.from !== undefined) await core.deleteSnapshot(principal, resolved.from).catch(() => {});
  }
}
