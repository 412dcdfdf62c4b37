import { type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { z } from "zod";
import { endOf, LONGEST_KEEP_MS, retentionOf } from "../timeouts.ts";
import { timeoutSchema } from "./ask.ts";
import { findLiving } from "./find.ts";
import { control } from "./route.ts";
import { connectionView } from "./view.ts";

const DEFAULT_TIMEOUT_S = 300;
const REFRESH_S = 60;

/** So long from now, in E2B's sense: when it stops running. */
export async function runFor(
  core: Core,
  principal: Principal,
  sandbox: Sandbox,
  seconds: number,
): Promise<Sandbox> {
  const ttlMs = Math.min(Math.max(1, seconds) * 1_000 + retentionOf(sandbox), LONGEST_KEEP_MS);
  return core.extend(principal, sandbox.id, { ttlMs });
}

/** Wakes what sleeps; of what runs, never shortens the time it has. */
export async function connect(core: Core, principal: Principal, sandbox: Sandbox, seconds: number) {
  if (sandbox.state === "paused") {
    // Its end first: one that is past would put it back to sleep as soon as it is awake.
    if (endOf(sandbox) <= Date.now()) await runFor(core, principal, sandbox, seconds);
    const woken = await core.resume(principal, sandbox.id);
    return { resumed: true, sandbox: await runFor(core, principal, woken, seconds) };
  }
  const isLonger = Date.now() + seconds * 1_000 > endOf(sandbox);
  return { resumed: false, sandbox: isLonger ? await runFor(core, principal, sandbox, seconds) : sandbox };
}

const connectSchema = z.object({ timeout: timeoutSchema.optional() });

export const lifecycleRoutes = [
  ...["?/sandboxes/{id}/connect", "/sandboxes/{id}/resume"].map((path) =>
    control(
      { method: "POST", path, operation: "sandbox.pause", body: connectSchema },
      async ({ core, desk, principal, params, body }) => {
        const found = await findLiving(core, principal, params.id ?? "");
        if (path.endsWith("resume") && found.state === "running") {
          throw new SandboxerError("conflict", `Sandbox ${found.id} is already running`);
        }
        const seconds = body.timeout ?? DEFAULT_TIMEOUT_S;
        const { resumed, sandbox } = await connect(core, principal, found, seconds);
        desk.autoPause.watch(sandbox);
        const view = await connectionView(core, desk, principal, sandbox);
        return { status: resumed ? 201 : 200, body: view };
      },
    ),
  ),
  control(
    {
      method: "POST",
      path: "/sandboxes/{id}/timeout",
      operation: "sandbox.extend",
      body: z.object({ timeout: timeoutSchema }),
    },
    async ({ core, desk, principal, params, body }) => {
      const found = await findLiving(core, principal, params.id ?? "");
      desk.autoPause.watch(await runFor(core, principal, found, body.timeout));
      return { status: 204 };
    },
  ),
  control(
    {
      method: "POST",
      path: "/sandboxes/{id}/refreshes",
      operation: "sandbox.extend",
      body: z.object({ duration: timeoutSchema.optional() }),
    },
    async ({ core, desk, principal, params, body }) => {
      const found = await findLiving(core, principal, params.id ?? "");
      const { sandbox } = await connect(core, principal, found, body.duration ?? REFRESH_S);
      desk.autoPause.watch(sandbox);
      return { status: 204 };
    },
  ),
  control(
    {
      method: "POST",
      path: "/sandboxes/{id}/pause",
      operation: "sandbox.pause",
      body: z.object({ memory: z.boolean().nullish() }),
    },
    async ({ core, desk, principal, params, body }) => {
      const found = await findLiving(core, principal, params.id ?? "");
      if (found.state === "paused") {
        throw new SandboxerError(
          "conflict",
          `Error pausing sandbox - sandbox '${found.id}' is already paused`,
        );
      }
      const paused = await (body.memory === false
        ? desk.layDown(principal, found.id)
        : core.pause(principal, found.id));
      desk.autoPause.watch(paused);
      await keep(core, principal, found);
      return { status: 204 };
    },
  ),
];

/** What sleeps is kept for as long as the key may keep anything. */
async function keep(core: Core, principal: Principal, { id, startedAtMs }: Sandbox): Promise<void> {
  const { maximumTtlMs = LONGEST_KEEP_MS } = (await core.whoami(principal)).rights;
  const livedMs = Date.now() - (startedAtMs ?? Date.now());
  const ttlMs = Math.min(LONGEST_KEEP_MS, maximumTtlMs - livedMs - 1_000);
  // A key that may pause need not be one that may extend; then it sleeps until its end.
  if (ttlMs >= 1_000) await core.extend(principal, id, { ttlMs }).catch(() => {});
}
