import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openGateway } from "@sandboxer/gateway";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { startDockerd } from "../capabilities/dockerd.ts";
import { requires } from "../capabilities/requires.ts";
import { closeRunDirectory } from "../capabilities/run-directory.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import { isAlive } from "./processes.ts";

const { describe } = await requires("docker", "boxd");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

const SOON = { timeout: 90_000, interval: 200 };
const image = { kind: "oci", ref: TEST_IMAGE } as const;

describe("a docker daemon that is restarted", () => {
  const place = mkdtempSync(join(tmpdir(), "sb-dockerd-"));
  const daemon = join(place, "d");
  let given: Awaited<ReturnType<typeof startDockerd>>;
  let gateway: Awaited<ReturnType<typeof openGateway>>;
  const before = process.env.DOCKER_HOST;

  beforeAll(async () => {
    given = await startDockerd(daemon);
    await importTestImage(given);
    process.env.DOCKER_HOST = given.host;
    const listen = { host: "127.0.0.1", port: 0 };
    gateway = await openGateway({ home: join(place, "home"), listen, log: () => {} });
  });
  afterAll(async () => {
    await gateway.close();
    process.env.DOCKER_HOST = before;
    closeRunDirectory(place);
  });

  it("RE-4 comes back without containers: no row goes on running, nothing is left, and the next is made", async () => {
    const client = createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
    const sandbox = await client.sandboxes.create({ image, ttlMs: 600_000 });
    const pid = Number(readFileSync(join(daemon, "docker.pid"), "utf8"));
    process.kill(pid, "SIGTERM");
    await expect.poll(() => isAlive(pid), SOON).toBe(false);
    await expect(client.sandboxes.create({ image })).rejects.toMatchObject({
      code: expect.stringMatching(/no_candidate|extension_unavailable|extension_failed/),
    });
    expect((await sandbox.refresh()).state, "what cannot be asked is not called lost").toBe("running");

    given = await startDockerd(daemon);
    const docker = async (...argv: string[]) =>
      (await promisify(execFile)(given.cli, ["--host", given.host, ...argv])).stdout.trim();
    await expect(sandbox.run(["true"])).rejects.toMatchObject({ code: "sandbox_gone" });
    await expect.poll(async () => (await sandbox.refresh()).state, SOON).toBe("lost");
    const next = await client.sandboxes.create({ image, ttlMs: 60_000 });
    expect((await next.run(["true"])).exit).toEqual({ kind: "exited", code: 0 });
    await next.destroy();
    await expect.poll(() => docker("ps", "--all", "--quiet"), SOON).toBe("");
    const { heldMicroUsd } = await client.budget.get();
    expect(heldMicroUsd).toBe(0);
  });
});
