import type { Finding, Probe } from "@sandboxer/contract";
import { BOXD_FIX, hasBoxd } from "../_kit/boxd/path.ts";
import { kernelFault } from "../_kit/faulty-kernels.ts";
import {
  belowFloor,
  CRUN_FLOOR,
  type Floor,
  GVISOR_FLOOR,
  KERNEL_FLOOR,
  RUNC_FLOOR,
} from "../_kit/floors.ts";
import type { DockerApi } from "./api.ts";
import { type Found, findRuntime, type Runtime } from "./runtime.ts";

export async function probeDocker(api: DockerApi, boxdPath: string, runtime: Runtime): Promise<Probe> {
  const { daemon, runc, kernel } = await findDaemon(api);
  const found: Found = daemon.ok ? await findRuntime(api, runtime) : {};
  const findings: Finding[] = [daemon, ...(found.finding ? [found.finding] : []), findBoxdBinary(boxdPath)];
  const lacking = findings.find((finding) => !finding.ok);
  if (lacking) {
    return { status: "unavailable", reason: lacking.message, fix: lacking.fix, findings };
  }
  findings.push(judgeRuntime(found, runc));
  // gVisor's programs reach its own.
  if (runtime === "runc") findings.push(judgeKernel(kernel));
  const unsafe = findings.flatMap(({ ok, message }) => (ok ? [] : message));
  return { status: "offer", findings, ...(unsafe.length > 0 && { unsafe }) };
}

/** What a container's programs reach first. */
function judgeRuntime({ name, version }: Found, runc: string | undefined): Finding {
  if (name === "runc") return judge("runc", runc ?? version, RUNC_FLOOR);
  if (name === "crun") return judge("crun", version, CRUN_FLOOR);
  if (name === "runsc") return judge("gvisor", version, GVISOR_FLOOR);
  const message = `docker runs containers on ${name ?? "something it does not name"}, of which nothing is known here`;
  const fix = "Let docker run them on runc or crun (`default-runtime`), and ask again.";
  return { id: "docker.runtime", ok: false, message, fix };
}

interface Version {
  readonly Version?: string;
  readonly KernelVersion?: string;
  readonly Components?: readonly { readonly Name?: string; readonly Version?: string }[];
}

interface Asked {
  readonly daemon: Finding;
  readonly runc?: string | undefined;
  readonly kernel?: string | undefined;
}

async function findDaemon(api: DockerApi): Promise<Asked> {
  const id = "docker.daemon";
  try {
    const { status, body } = await api.call("GET", "/version");
    const { Version: version, KernelVersion: kernel, Components: parts = [] } = body as Version;
    const runc = parts.find(({ Name }) => Name === "runc")?.Version;
    if (status === 200 && version) {
      return { daemon: { id, ok: true, message: `docker ${version}` }, runc, kernel };
    }
    const fix = "Use docker 20.10 or newer.";
    return { daemon: { id, ok: false, message: `docker answers ${status}`, fix } };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const fix = "Start docker, or name its socket in DOCKER_HOST.";
    return { daemon: { id, ok: false, message, fix } };
  }
}

function judge(name: string, version: string | undefined, floor: Floor): Finding {
  const unsafe = belowFloor(version, floor);
  const id = `docker.${name}`;
  if (!unsafe) return { id, ok: true, message: `${floor.what} ${version}` };
  return { id, ok: false, message: unsafe, fix: `Update ${floor.what}.` };
}

function judgeKernel(release: string | undefined): Finding {
  const fault = kernelFault(release);
  return fault ? { id: "docker.kernel", ok: false, ...fault } : judge("kernel", release, KERNEL_FLOOR);
}

function findBoxdBinary(path: string): Finding {
  const id = "docker.boxd";
  if (hasBoxd(path)) return { id, ok: true, message: "boxd is there to be bound into containers" };
  return { id, ok: false, message: "boxd has not been built", fix: BOXD_FIX };
}
