import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Finding, Probe } from "@sandboxer/contract";
import { createDockerExtension } from "@sandboxer/extensions/docker";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { ensureDebianPackage } from "../capabilities/debian.ts";
import { type Dockerd, startDockerd, stopDockerd } from "../capabilities/dockerd.ts";
import { requires } from "../capabilities/requires.ts";

const { describe } = await requires("docker", "boxd");

const run = promisify(execFile);

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

describe("a docker daemon whose containers run on something of its operator's choice", () => {
  let place: string;
  let daemon: Dockerd;
  const RUNTIMES = {
    crun: { path: "/usr/bin/crun" },
    runsc: { path: "/usr/bin/runsc" },
    // Whatever it is, nothing is known of it by this name.
    kata: { path: "/usr/sbin/runc" },
  };

  beforeAll(async () => {
    await ensureDebianPackage("crun");
    place = await mkdtemp(join(tmpdir(), "sandboxer-runtimes-"));
    daemon = await startDockerd(join(place, "docker"), RUNTIMES);
  });
  afterAll(async () => {
    stopDockerd(join(place, "docker"));
    await rm(place, { recursive: true, force: true });
  });

  const probeOn = async (runtime: string): Promise<Probe> => {
    const file = join(place, "docker/daemon.json");
    await writeFile(file, JSON.stringify({ runtimes: RUNTIMES, "default-runtime": runtime }));
    process.kill(Number(await readFile(join(place, "docker/docker.pid"), "utf8")), "SIGHUP");
    const asked = ["--host", daemon.host, "info", "--format", "{{.DefaultRuntime}}"];
    const now = async () => (await run(daemon.cli, asked)).stdout.trim();
    await expect.poll(now, { timeout: 20_000 }).toBe(runtime);
    const socketPath = daemon.host.replace("unix://", "");
    const extension = createDockerExtension({ dir: join(place, "sockets"), socketPath });
    try {
      return await extension.probe();
    } finally {
      await extension.close();
    }
  };
  const about = ({ findings }: Probe, id: string): Finding | undefined =>
    findings.find((finding) => finding.id === id);

  it("PO-3 is judged by runc where that is what runs", async () => {
    const probe = await probeOn("runc");
    expect(about(probe, "docker.runc")?.message).toMatch(/^runc \d+\.\d+/);
    expect(about(probe, "docker.runtime")).toBeUndefined();
  });

  it("PO-3 is judged by crun where that is what runs", async () => {
    const probe = await probeOn("crun");
    expect(about(probe, "docker.runc"), "which runs nothing there").toBeUndefined();
    expect(about(probe, "docker.crun")).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^crun 1\.8\.1 is below .*CVE-2026-47766/),
    });
    expect(probe).toMatchObject({ status: "offer", unsafe: [expect.stringContaining("crun")] });
  });

  it("PO-3 is unsafe where nothing is known of what runs", async () => {
    const probe = await probeOn("kata");
    const message = expect.stringContaining("kata");
    expect(about(probe, "docker.runtime")).toMatchObject({ ok: false, message, fix: expect.any(String) });
    expect(probe).toMatchObject({ status: "offer", unsafe: expect.arrayContaining([message]) });
  });

  it("is not there where it would be gVisor, on which this way out promises too much", async () => {
    const probe = await probeOn("runsc");
    expect(probe).toMatchObject({
      status: "unavailable",
      reason: expect.stringContaining("runsc"),
      fix: expect.stringContaining("docker-gvisor"),
    });
  });
});
