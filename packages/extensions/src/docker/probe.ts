import type { Finding, Probe } from "@sandboxer/contract";
import { BOXD_FIX, hasBoxd } from "../_kit/boxd/path.ts";
import type { DockerApi } from "./api.ts";
import { findRuntime, type Runtime } from "./runtime.ts";

export async function probeDocker(api: DockerApi, boxdPath: string, runtime: Runtime): Promise<Probe> {
  const daemon = await findDaemon(api);
  const found = daemon.ok ? await findRuntime(api, runtime) : undefined;
  const findings = [daemon, ...(found ? [found] : []), findBoxdBinary(boxdPath)];
  const lacking = findings.find((finding) => !finding.ok);
  if (!lacking) return { status: "offer", findings };
  return { status: "unavailable", reason: lacking.message, fix: lacking.fix ?? "", findings };
}

async function findDaemon(api: DockerApi): Promise<Finding> {
  const id = "docker.daemon";
  try {
    const { status, body } = await api.call("GET", "/version");
    const version = (body as { Version?: string }).Version;
    if (status === 200 && version) return { id, ok: true, message: `docker ${version}` };
    return { id, ok: false, message: `docker answers ${status}`, fix: "Use docker 20.10 or newer." };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { id, ok: false, message, fix: "Start docker, or name its socket in DOCKER_HOST." };
  }
}

function findBoxdBinary(path: string): Finding {
  const id = "docker.boxd";
  if (hasBoxd(path)) return { id, ok: true, message: "boxd is there to be bound into containers" };
  return { id, ok: false, message: "boxd has not been built", fix: BOXD_FIX };
}
