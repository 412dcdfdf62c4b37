import { startTemplate } from "../builds/start.ts";
import { bodyFor, newSandboxSchema } from "./ask.ts";
import { findLiving } from "./find.ts";
import { listPage, listRunning } from "./list.ts";
import { may } from "./may.ts";
import { type Call, control } from "./route.ts";
import { connectionView, detailView } from "./view.ts";

const DEFAULT_TIMEOUT_S = 300;
const OLD_DEFAULT_TIMEOUT_S = 15;

const create = (defaultTimeoutS: number) => async (call: Call<ReturnType<typeof newSandboxSchema.parse>>) => {
  const { core, desk, principal, body } = call;
  const asked = await bodyFor(call, body, defaultTimeoutS);
  // Who could not be told of it gets none made.
  await may(call, "sandbox.read");
  const sandbox = await core.create(principal, asked.body);
  try {
    if (asked.isStarted) await startTemplate(core, principal, sandbox);
    desk.autoPause.watch(sandbox);
    return { status: 201, body: await connectionView(core, desk, principal, sandbox) };
  } catch (error) {
    await core.destroy(principal, sandbox.id).catch(() => {});
    throw error;
  }
};

export const sandboxRoutes = [
  control(
    { method: "POST", path: "/v2/sandboxes", operation: "sandbox.create", body: newSandboxSchema },
    create(DEFAULT_TIMEOUT_S),
  ),
  control(
    { method: "POST", path: "/sandboxes", operation: "sandbox.create", body: newSandboxSchema },
    create(OLD_DEFAULT_TIMEOUT_S),
  ),
  control({ method: "GET", path: "/v2/sandboxes", operation: "sandbox.read" }, listPage),
  control({ method: "GET", path: "/sandboxes", operation: "sandbox.read" }, listRunning),
  control(
    { method: "GET", path: "/sandboxes/{id}", operation: "sandbox.read" },
    async ({ core, desk, principal, params }) => {
      const sandbox = await findLiving(core, principal, params.id ?? "");
      return { status: 200, body: await detailView(core, desk, principal, sandbox) };
    },
  ),
  control(
    { method: "DELETE", path: "/sandboxes/{id}", operation: "sandbox.destroy" },
    async ({ core, desk, principal, params }) => {
      const { id } = await findLiving(core, principal, params.id ?? "");
      await core.destroy(principal, id);
      desk.signatures.forget(id);
      desk.contexts.forget(id);
      return { status: 204 };
    },
  ),
];
