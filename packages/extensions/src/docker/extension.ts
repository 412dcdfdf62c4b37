import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Box,
  type Extension,
  type Manifest,
  SandboxerError,
  type SandboxSpec,
} from "@sandboxer/contract";
import { Connection, dial, openBox } from "../_kit/boxd/index.ts";
import { findBoxd } from "../_kit/boxd/path.ts";
import { createMirrors } from "../_kit/mirror/mirrors.ts";
import { type DockerApi, openDockerApi } from "./api.ts";
import { describeContainer, nameOf } from "./container.ts";
import { expectStatus } from "./failure.ts";
import { notInForce } from "./limits.ts";
import { listContainers } from "./list.ts";
import { manifestOf } from "./manifest.ts";
import { metricsThrough } from "./metrics.ts";
import { probeDocker } from "./probe.ts";
import { pullImage } from "./pull.ts";
import { onGvisor, type Runtime } from "./runtime.ts";
import { socketFolders } from "./sockets.ts";

export interface DockerOptions {
  /** Where the sockets of this installation's containers are. */
  readonly dir: string;
  /** Where this installation keeps everything; no sandbox is ever given a copy of it. */
  readonly home?: string;
  readonly socketPath?: string;
  readonly boxdPath?: string;
  /** Where missing images may come from; from nowhere, unless said otherwise. */
  readonly registries?: readonly string[];
  /** runc, unless said otherwise. */
  readonly runtime?: Runtime;
}

/** A daemon whose storage has no layers copies the whole image first, and says nothing meanwhile. */
const MADE_WITHIN_MS = 600_000;
const STARTS_WITHIN_MS = 30_000;
const ENDS_WITHIN_MS = 30_000;
const NOTICES_WITHIN_MS = 2_000;

/** Containers on a docker daemon of this machine. The connection goes to boxd inside, not through docker. */
export function createDockerExtension(options: DockerOptions): Extension {
  const { dir, boxdPath = findBoxd(), socketPath = socketFromEnvironment(), registries = [] } = options;
  const { runtime = "runc" } = options;
  const manifest = manifestOf(runtime);
  const api = openDockerApi(socketPath);
  const hostId = hostname();
  const mirrors = createMirrors(dir, boxdPath, options.home === undefined ? [dir] : [dir, options.home]);
  const sockets = socketFolders(dir);

  const connect = async (ref: string, path = sockets.take(ref)): Promise<Connection | undefined> => {
    const socket = await dial(path);
    return socket && new Connection(socket, () => explainClose(api, ref));
  };
  const boxOf = async (ref: string, connection: Connection, bestEffort: string[] = []): Promise<Box> => {
    const opened = await openBox(connection, { ref, hostId, bestEffort });
    const box = { ...opened, ...(await mirrors.open(ref, connection)) };
    return runtime === "runsc" ? onGvisor(box) : box;
  };

  const attach = async (ref: string): Promise<Box> => {
    if (!(await isRunning(api, ref))) throw new SandboxerError("not_found", `no container for ${ref}`);
    const connection = await connect(ref);
    if (!connection) throw new SandboxerError("extension_failed", `boxd does not answer in ${ref}`);
    return boxOf(ref, connection);
  };

  return {
    manifest,
    probe: () => probeDocker(api, boxdPath, runtime),

    async create(spec, context) {
      const { image } = spec;
      if (image.kind !== "oci") throw new SandboxerError("unsupported", "docker takes oci images");
      refuseKept(spec);
      const bestEffort = notInForce(spec);
      const copied = await mirrors.pin(spec);
      const ref = context.sandboxId;
      const socketDir = await sockets.make(ref);
      const description = describeContainer({ ...spec, image }, context, { boxdPath, socketDir, runtime });
      const make = () => order(api, `create?name=${nameOf(ref)}`, description);
      let made = await make();
      if (made.status === 404) {
        await pullImage(api, { ref: image.ref, registries, ...context });
        made = await make();
      }
      // Asked twice with the same id there is still one container, and it is this one.
      if (made.status === 409) return attach(ref);
      expectStatus(made, "creating a container", 201);
      expectStatus(await order(api, `${nameOf(ref)}/start`), "starting it", 204, 304);
      const connection = await listening(ref, sockets, connect);
      if (copied) await mirrors.begin(ref, copied, connection);
      return boxOf(ref, connection, bestEffort);
    },

    attach,
    list: async ({ installationId }) =>
      mirrors.keepOf(() =>
        sockets.keepOf(() => listContainers(api, { installationId, hostId, extensionId: manifest.id })),
      ),

    async destroy(ref) {
      const answer = await api.call("DELETE", `/containers/${nameOf(ref)}?force=true&v=true`);
      expectStatus(answer, "removing a container", 204, 404, 409);
      await goneSoon(api, ref);
      await Promise.all([sockets.remove(ref), mirrors.forget(ref)]);
    },

    async extend(ref, ttlMs) {
      const connection = await connect(ref);
      if (!connection) throw new SandboxerError("not_found", `no container for ${ref}`);
      try {
        await connection.call("extend", { ttlMs });
      } finally {
        connection.close();
      }
    },

    ...facetsOf(manifest, api, sockets.take),

    async close() {},
  };
}

const order = (api: DockerApi, path: string, body?: unknown) =>
  api.call("POST", `/containers/${path}`, body, MADE_WITHIN_MS);

async function goneSoon(api: DockerApi, ref: string): Promise<void> {
  for (const deadline = Date.now() + ENDS_WITHIN_MS; await exists(api, ref); await sleep(10)) {
    if (Date.now() > deadline) throw new SandboxerError("extension_failed", `${ref} does not go away`);
  }
}

function refuseKept({ persistence }: SandboxSpec): void {
  if (persistence === "ephemeral") return;
  throw new SandboxerError("unsupported", "docker's sandboxes are ephemeral");
}

/** Started is not yet listening. */
async function listening(
  ref: string,
  sockets: ReturnType<typeof socketFolders>,
  connect: (ref: string, path: string) => Promise<Connection | undefined>,
): Promise<Connection> {
  for (const deadline = Date.now() + STARTS_WITHIN_MS; Date.now() < deadline; await sleep(3)) {
    const connection = await connect(ref, sockets.first(ref));
    if (!connection) continue;
    sockets.take(ref);
    return connection;
  }
  throw new SandboxerError("deadline_exceeded", `boxd did not start in ${ref}`);
}

/** What the extension itself has of what the manifest says. */
function facetsOf(
  { facets }: Manifest,
  api: DockerApi,
  socketOf: (ref: string) => string,
): Pick<Extension, "metrics" | "network"> {
  return {
    ...(facets.includes("metrics") && { metrics: metricsThrough(api) }),
    ...(facets.includes("network") && { network: { door: (ref) => ({ socketPath: socketOf(ref) }) } }),
  };
}

const inspect = (api: DockerApi, ref: string) => api.call("GET", `/containers/${nameOf(ref)}/json`);

async function exists(api: DockerApi, ref: string): Promise<boolean> {
  return (await inspect(api, ref)).status !== 404;
}

/** A daemon that has trouble of its own has not said that it is over. */
async function isRunning(api: DockerApi, ref: string): Promise<boolean> {
  const { status, body } = expectStatus(await inspect(api, ref), "looking at a container", 200, 404);
  if (status === 404) return false;
  const running = (body as { State?: { Running?: unknown } } | null)?.State?.Running;
  if (typeof running === "boolean") return running;
  throw new SandboxerError("extension_failed", `docker does not say whether ${ref} is running`);
}

/** Is it the container that is over, or only this connection to it? Docker may be a little late to know. */
async function explainClose(api: DockerApi, ref: string): Promise<SandboxerError> {
  for (const deadline = Date.now() + NOTICES_WITHIN_MS; Date.now() < deadline; await sleep(20)) {
    if (await isRunning(api, ref).catch(() => true)) continue;
    return new SandboxerError("sandbox_gone", `the sandbox ${ref} is over`);
  }
  return new SandboxerError("extension_failed", "the connection to the sandbox broke");
}

function socketFromEnvironment(): string {
  const { DOCKER_HOST } = process.env;
  return DOCKER_HOST?.startsWith("unix://") ? DOCKER_HOST.slice("unix://".length) : "/var/run/docker.sock";
}
