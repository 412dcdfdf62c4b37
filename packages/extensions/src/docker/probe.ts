import type { Finding, Probe } from "@sandboxer/contract";
import { BOXD_FIX, hasBoxd } from "../_kit/boxd/path.ts";
import { belowFloor, RUNC_FLOOR } from "../_kit/floors.ts";
import type { DockerApi } from "./api.ts";
import { findRuntime, type Runtime } from "./runtime.ts";

export async function probeDocker(api: DockerApi, boxdPath: string, runtime: Runtime): Promise<Probe> {
  const { daemon, runc } = await findDaemon(api);
  const found = daemon.ok ? await findRuntime(api, runtime) : undefined;
  const findings = [daemon, ...(found ? [found] : []), findBoxdBinary(boxdPath)];
  const lacking = findings.find((finding) => !finding.ok);
  const isRunc = runtime === "runc";
  if (daemon.ok && isRunc) findings.push(runc);
  const unsafe = isRunc && !runc.ok ? [runc.message] : [];
  if (!lacking) return { status: "offer", findings, ...(unsafe.length > 0 && { unsafe }) };
  return { status: "unavailable", reason: lacking.message, fix: lacking.fix ?? "", findings };
}

interface Version {
  readonly Version?: string;
  readonly Components?: readonly { readonly Name?: string; readonly Version?: string }[];
}

async function findDaemon(api: DockerApi): Promise<{ daemon: Finding; runc: Finding }> {
  const id = "docker.daemon";
  const runc = { id: "docker.runc", ok: false, message: "runc is not known" };
  try {
    const { status, body } = await api.call("GET", "/version");
    const { Version: version, Components: parts = [] } = body as Version;
    const found = parts.find(({ Name }) => Name === "runc")?.Version;
    if (status === 200 && version) {
      return { daemon: { id, ok: true, message: `docker ${version}` }, runc: judgeRunc(found) };
    }
    const fix = "Use docker 20.10 or newer.";
    return { daemon: { id, ok: false, message: `docker answers ${status}`, fix }, runc };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const fix = "Start docker, or name its socket in DOCKER_HOST.";
    return { daemon: { id, ok: false, message, fix }, runc };
  }
}

function judgeRunc(version: string | undefined): Finding {
  const unsafe = belowFloor(version, RUNC_FLOOR);
  const id = "docker.runc";
  if (!unsafe) return { id, ok: true, message: `runc ${version}` };
  return { id, ok: false, message: unsafe, fix: "Update runc, with docker." };
}

function findBoxdBinary(path: string): Finding {
  const id = "docker.boxd";
  if (hasBoxd(path)) return { id, ok: true, message: "boxd is there to be bound into containers" };
  return { id, ok: false, message: "boxd has not been built", fix: BOXD_FIX };
}
