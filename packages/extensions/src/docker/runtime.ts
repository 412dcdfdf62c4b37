import { execFile } from "node:child_process";
import { isAbsolute } from "node:path";
import { promisify } from "node:util";
import { type Box, type Finding, type Manifest, SandboxerError } from "@sandboxer/contract";
import type { DockerApi } from "./api.ts";

/** What runs a daemon's containers. Each makes another class of isolation, so each is a way out of its own. */
export type Runtime = "runc" | "runsc";

type Differing = Pick<Manifest, "id" | "title" | "isolation" | "facets">;

export const RUNTIMES: Readonly<Record<Runtime, Differing>> = {
  runc: {
    id: "docker",
    title: "a docker daemon, with boxd inside",
    isolation: { class: "container", technology: "runc" },
    // No `pause`: a frozen container cannot end itself on time, and docker has no clock of its own.
    facets: ["pty", "ports", "users", "metrics", "network"],
  },
  runsc: {
    id: "docker-gvisor",
    title: "a docker daemon whose containers run on gVisor, with boxd inside",
    isolation: { class: "userspace-kernel", technology: "gvisor" },
    // Its kernel has no namespaces to lay a way to the guard in, gives a terminal no controlling
    // session, and where it keeps no control group there is nothing of its own to count.
    facets: ["ports", "users"],
  },
};

const FIX =
  "Install gVisor and add it to docker as the runtime `runsc`, with the argument `--host-uds=create`: boxd listens on a socket that this machine opens.";

export interface Found {
  /** Whether containers can run on it, where that is a question. */
  readonly finding?: Finding;
  /** As the daemon calls what its containers run on. */
  readonly name?: string | undefined;
  readonly version?: string | undefined;
}

/** What containers will run on: gVisor where that is asked for, or else what the daemon has chosen. */
export async function findRuntime(api: DockerApi, runtime: Runtime): Promise<Found> {
  const { body } = await api.call("GET", "/info").catch(() => ({ body: {} }));
  const { Runtimes = {}, DefaultRuntime: chosen } = body as Info;
  const id = "docker.runsc";
  if (runtime === "runc") {
    if (chosen !== "runsc") return { name: chosen, version: await versionOf(Runtimes[chosen ?? ""]?.path) };
    const message = "docker runs containers on runsc, unless told otherwise";
    return { finding: { id, ok: false, message, fix: "Use docker-gvisor, which is for that." } };
  }
  if (!Object.hasOwn(Runtimes, runtime)) {
    return { finding: { id, ok: false, message: `docker has no runtime ${runtime}`, fix: FIX } };
  }
  const finding: Finding = { id, ok: true, message: `docker runs containers on ${runtime}` };
  return { finding, name: runtime, version: await versionOf(Runtimes[runtime]?.path) };
}

interface Info {
  readonly Runtimes?: Readonly<Record<string, { readonly path?: string }>>;
  readonly DefaultRuntime?: string;
}

/** The daemon knows that of runc alone, and the others' programs are on this machine. */
async function versionOf(path = ""): Promise<string | undefined> {
  if (!isAbsolute(path)) return undefined;
  try {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: 5_000, env: {} });
    return /(\d{8}\.\d+)/.exec(stdout)?.[1] ?? /^\S+ version (\S+)/.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

/** Refuses what boxd cannot promise on that kernel, instead of promising less. */
export function onGvisor({ pty, ...box }: Box): Box {
  return {
    ...box,
    async exec(request, attachmentId) {
      if (request.pty) throw new SandboxerError("unsupported", "gVisor gives no terminals here");
      if (request.timeoutMs !== undefined) {
        throw new SandboxerError(
          "unsupported",
          "a timeout would not end all of a command on gVisor, whose kernel lets nobody adopt orphans",
          { hint: "End it by the sandbox's own end, or by a signal." },
        );
      }
      return box.exec(request, attachmentId);
    },
  };
}
