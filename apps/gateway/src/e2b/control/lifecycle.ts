import { MINIMUM_TTL_MS, type Principal, type Sandbox, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { z } from "zod";
import { notesOf } from "../labels.ts";
import { endOf, LONGEST_KEEP_MS, retentionOf } from "../timeouts.ts";
import { timeoutSchema } from "./ask.ts";
import { findLiving, findRunning } from "./find.ts";
import { type Answer, type Call, control } from "./route.ts";
import { connectionView } from "./view.ts";

const DEFAULT_TIMEOUT_S = 300;
const OLD_DEFAULT_TIMEOUT_S = 15;
/** What may pass between a look at the clock and core's own. */
const SPARE_MS = 1_000;

/** So long from now, in E2B's sense: when it stops running; as there, no longer than the key may have one. */
export async function runFor(
  core: Core,
  principal: Principal,
  sandbox: Sandbox,
  seconds: number,
): Promise<Sandbox> {
  const { maximumTtlMs = Number.POSITIVE_INFINITY } = (await core.whoami(principal)).rights;
  const livedMs = Date.now() - (sandbox.startedAtMs ?? Date.now());
  const keptMs = retentionOf(sandbox);
  const mostMs = Math.min(LONGEST_KEEP_MS, maximumTtlMs - livedMs - SPARE_MS) - keptMs;
  if (mostMs < MINIMUM_TTL_MS) throw new SandboxerError("invalid_request", "Max instance length exceeded");
  const ttlMs = Math.floor(Math.min(Math.max(1, seconds) * 1_000, mostMs)) + keptMs;
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

const connectSchema = z.object({ timeout: timeoutSchema.optional(), memory: z.boolean().nullish() });
const resumeSchema = connectSchema.extend({ autoPause: z.boolean().nullish() });

type Connecting = Call<z.output<typeof connectSchema>>;

async function connectTo(call: Connecting, found: Sandbox, defaultTimeoutS: number): Promise<Answer> {
  const { core, desk, principal, body } = call;
  // What is not to be remembered is dropped before it could go on.
  if (body.memory === false && found.state === "paused") await desk.layDown(principal, found.id);
  const seconds = body.timeout ?? defaultTimeoutS;
  const { resumed, sandbox } = await connect(core, principal, found, seconds);
  desk.autoPause.watch(sandbox);
  return { status: resumed ? 201 : 200, body: await connectionView(core, desk, principal, sandbox) };
}

export const lifecycleRoutes = [
  control(
    { method: "POST", path: "?/sandboxes/{id}/connect", operation: "sandbox.pause", body: connectSchema },
    async (call) => {
      const found = await findLiving(call.core, call.principal, call.params.id ?? "");
      return connectTo(call, found, DEFAULT_TIMEOUT_S);
    },
  ),
  control(
    { method: "POST", path: "/sandboxes/{id}/resume", operation: "sandbox.pause", body: resumeSchema },
    async (call) => {
      const found = await findLiving(call.core, call.principal, call.params.id ?? "");
      if (found.state === "running") {
        throw new SandboxerError("conflict", `Sandbox ${found.id} is already running`);
      }
      // One that is not to sleep after all would only be kept for longer.
      if (call.body.autoPause && notesOf(found)["on-timeout"] === undefined) {
        throw new SandboxerError("invalid_request", "autoPause: it is said when a sandbox is made");
      }
      return connectTo(call, found, OLD_DEFAULT_TIMEOUT_S);
    },
  ),
  control(
    {
      method: "POST",
      path: "/sandboxes/{id}/timeout",
      operation: "sandbox.extend",
      body: z.object({ timeout: timeoutSchema }),
    },
    async ({ core, desk, principal, params, body }) => {
      const found = await findRunning(core, principal, params.id ?? "");
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
      const found = await findRunning(core, principal, params.id ?? "");
      const seconds = Math.max(OLD_DEFAULT_TIMEOUT_S, body.duration ?? 0);
      const { sandbox } = await connect(core, principal, found, seconds);
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
  const ttlMs = Math.min(LONGEST_KEEP_MS, maximumTtlMs - livedMs - SPARE_MS);
  // A key that may pause need not be one that may extend; then it sleeps until its end.
  if (ttlMs >= 1_000) await core.extend(principal, id, { ttlMs }).catch(() => {});
}
