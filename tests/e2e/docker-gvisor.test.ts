import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, openGateway } from "@sandboxer/gateway";
import { type Client, createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type Dockerd, startDockerd, stopDockerd } from "../capabilities/dockerd.ts";
import { requires } from "../capabilities/requires.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

const { describe, given } = await requires("docker", "gvisor", "boxd");

describe("docker with gVisor as its runtime", () => {
  let place: string;
  let gateway: Gateway;
  let client: Client;
  let daemon: Dockerd;
  const former = process.env.DOCKER_HOST;
  const asked = { image: { kind: "oci", ref: TEST_IMAGE }, isolation: "userspace-kernel" } as const;

  async function open(host: string): Promise<void> {
    process.env.DOCKER_HOST = host;
    process.env.SANDBOXER_DOCKER_GVISOR = "1";
    gateway = await openGateway({ home: join(place, "home"), listen: false, log: () => {} });
    const { apiKey, fetch } = gateway;
    client = createClient({ url: "http://localhost", apiKey, fetch });
  }
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-gvisor-"));
    // It cannot manage hybrid cgroups; ptrace, because Debian's version has nothing quicker without KVM.
    const runtimeArgs = ["--host-uds=create", "--platform=ptrace", "--ignore-cgroups", "--network=none"];
    daemon = await startDockerd(join(place, "docker"), { runsc: { path: given.gvisor.path, runtimeArgs } });
    await importTestImage(daemon);
  }, 300_000);
  afterAll(async () => {
    process.env.DOCKER_HOST = former;
    delete process.env.SANDBOXER_DOCKER_GVISOR;
    stopDockerd(join(place, "docker"));
    await removeEngine(join(place, "home/engine"), place);
  }, 300_000);

  it("is refused by name where the daemon has no such runtime", async () => {
    await open(given.docker.host);
    const refusal = await client.sandboxes.create(asked).catch((error) => error);
    expect(refusal).toMatchObject({ code: "no_candidate" });
    expect(JSON.stringify(refusal.details)).toContain("docker has no runtime runsc");
    await gateway.close();
  }, 300_000);

  it("PO-3 is refused where its release is too old, without the operator's word", async () => {
    vi.stubEnv("SANDBOXER_ALLOW_UNSAFE_RUNTIME", "docker");
    try {
      await open(daemon.host);
      const { rejected } = await client.explain(asked);
      const { reason } = rejected.find(({ extensionId }) => extensionId === "docker-gvisor") ?? {};
      expect(reason).toMatch(/^unavailable: gVisor \d{8}\.\d+ is below/);
      await expect(client.sandboxes.create(asked)).rejects.toMatchObject({ code: "no_candidate" });
      await gateway.close();
    } finally {
      vi.unstubAllEnvs();
    }
  }, 300_000);

  it("runs commands on another kernel, for its users, and is found again after a restart", async () => {
    await open(daemon.host);
    const { id, info } = await client.sandboxes.create({ ...asked, ttlMs: 120_000 });
    expect(info.location?.extensionId).toBe("docker-gvisor");
    await gateway.close();
    await open(daemon.host);
    const sandbox = await client.sandboxes.get(id);
    const say = async (script: string) =>
      new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);
    expect(await say("dmesg 2>/dev/null | head -n 1 || true; cat /proc/version")).toMatch(/gVisor|4\.4\.0/);
    expect(await say("id -u; cat /proc/self/status")).toMatch(/^1000\n[\s\S]*CapEff:\t0+\n/);
    expect(await say("echo /proc/self/fd/*"), "three streams, and the listing's own").toMatch(
      /^\/proc\/self\/fd\/0 \/proc\/self\/fd\/1 \/proc\/self\/fd\/2( \/proc\/self\/fd\/3)?\n$/,
    );
    await sandbox.files.write("note", [new TextEncoder().encode("kept\n")]);
    expect(await say("cat note")).toBe("kept\n");
    expect(await say("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '")).toBe("lo\n");
    await sandbox.destroy();
    await gateway.close();
  }, 300_000);

  it("refuses what that kernel does not give, in so many words", async () => {
    await open(daemon.host);
    const sandbox = await client.sandboxes.create({ ...asked, ttlMs: 120_000 });
    const pty = { cols: 80, rows: 24 };
    await expect(sandbox.exec({ argv: ["sh"], pty })).rejects.toMatchObject({ code: "unsupported" });
    await expect(sandbox.exec({ argv: ["true"], timeoutMs: 1_000 })).rejects.toMatchObject({
      message: expect.stringContaining("timeout"),
    });
    const guarded = { egress: "guarded" as const, rules: [{ host: "api.test" }] };
    await expect(client.sandboxes.create({ ...asked, network: guarded })).rejects.toMatchObject({
      code: "no_candidate",
    });
    await sandbox.destroy();
    await gateway.close();
  }, 300_000);
});
