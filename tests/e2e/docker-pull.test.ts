import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { newRowId, newSandboxId } from "@sandboxer/contract";
import { createDockerExtension } from "@sandboxer/extensions/docker";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import { type Registry, startRegistry } from "../images/registry.ts";

const { describe, given } = await requires("docker", "boxd", "docker-registry");

vi.setConfig({ testTimeout: 180_000 });

/** A registry of our own on loopback, which a daemon trusts without TLS. */
describe("an image that docker lacks", () => {
  let dir: string;
  let registry: string;
  let serving: Registry;
  const run = promisify(execFile);
  const docker = (...argv: string[]) => run(given.docker.cli, ["--host", given.docker.host, ...argv]);
  const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
  const extension = (registries: string[]) =>
    createDockerExtension({ dir, registries, socketPath: given.docker.host.replace("unix://", "") });
  const specOf = (ref: string) => ({ ...PLAIN_SPEC, image: { kind: "oci", ref } as const });

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-pull-"));
    serving = await startRegistry(given["docker-registry"].path);
    registry = serving.host.replace("127.0.0.1", "localhost");
    await importTestImage(given.docker);
    await docker("tag", TEST_IMAGE, `${registry}/team/tools:7`);
    await docker("push", `${registry}/team/tools:7`);
    await docker("rmi", `${registry}/team/tools:7`);
  });
  afterAll(async () => {
    await serving?.stop();
    await docker("rmi", "--force", `${registry}/team/tools:7`).catch(() => {});
    await rm(dir, { recursive: true, force: true });
  });

  it("is refused from a registry that nobody listed, and the registry is not asked", async () => {
    const attempt = extension(["default"]).create(specOf(`${registry}/team/tools:7`), {
      ...context,
      sandboxId: newSandboxId(),
    });
    await expect(attempt).rejects.toMatchObject({
      code: "extension_unavailable",
      hint: expect.stringContaining("docker.registries"),
    });
  });

  it("is pulled from one that is listed, and says so while it takes long", async () => {
    const sandboxId = newSandboxId();
    const said: string[] = [];
    const progress = (message: string) => void said.push(message);
    const box = await extension([registry]).create(specOf(`${registry}/team/tools:7`), {
      ...context,
      sandboxId,
      progress,
    });
    expect(said[0]).toBe(`pulling ${registry}/team/tools:7 from ${registry}`);
    box.close();
    await extension([]).destroy(sandboxId, context);
  });

  it("that the registry lacks too is the caller's mistake", async () => {
    const attempt = extension([registry]).create(specOf(`${registry}/team/nothing:1`), {
      ...context,
      sandboxId: newSandboxId(),
    });
    await expect(attempt).rejects.toMatchObject({
      code: "invalid_request",
      hint: expect.stringContaining("tag"),
    });
  });
});
