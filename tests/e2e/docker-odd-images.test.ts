import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Box, collect, newRowId, newSandboxId } from "@sandboxer/contract";
import { createDockerExtension } from "@sandboxer/extensions/docker";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";

const { describe, given } = await requires("docker", "boxd");
const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
const SOON = { timeout: 30_000, interval: 100 };

/** What an image may say of itself, and none of which may become a sandbox's. */
const ODD = [
  "HEALTHCHECK --interval=1s CMD touch /checked",
  "USER 1234",
  'ENTRYPOINT ["/not/there"]',
  "WORKDIR /not/there",
  "VOLUME /tmp /data /.sandboxer",
  "ONBUILD RUN false",
];

describe("images that say odd things of themselves", () => {
  let dir: string;
  const run = promisify(execFile);
  const docker = async (...argv: string[]) =>
    (await run(given.docker.cli, ["--host", given.docker.host, ...argv])).stdout.trim();
  const extension = () =>
    createDockerExtension({ dir, socketPath: given.docker.host.replace("unix://", "") });
  const create = (ref: string, sandboxId = newSandboxId()) =>
    extension().create({ ...PLAIN_SPEC, image: { kind: "oci", ref } }, { ...context, sandboxId });
  const say = async (box: Box, ...argv: string[]) => {
    const asked = { argv, env: {}, stdin: false, user: "root" };
    return Buffer.from((await collect(await box.exec(asked, newRowId("att")))).stdout).toString();
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-odd-"));
    await importTestImage(given.docker);
    const plain = await docker("create", "--network", "none", TEST_IMAGE, "true");
    await docker("commit", ...ODD.flatMap((one) => ["--change", one]), plain, "sandboxer-odd:1");
    await docker("rm", plain);
  });
  afterAll(async () => {
    await docker("rmi", "sandboxer-odd:1");
    await rm(dir, { recursive: true, force: true });
  });

  it("CA-2 runs no health check of an image, which would have what only boxd has", async () => {
    const box = await create("sandboxer-odd:1");
    const given = ["--network", "none", "--user", "0", "--workdir", "/", "--entrypoint", "sleep"];
    const plain = await docker("run", "--detach", ...given, "sandboxer-odd:1", "300");
    await expect.poll(() => docker("diff", plain), SOON).toContain("/checked");
    await expect(box.files.stat("/checked")).rejects.toMatchObject({ code: "path_not_found" });
    expect(JSON.parse(await docker("inspect", `sandboxer-${box.ref}`))[0].State.Health).toBeUndefined();
    await docker("rm", "--force", "--volumes", plain);
    await extension().destroy(box.ref, context);
  });

  it("keeps nothing of an image's own volumes", async () => {
    const volumes = await docker("volume", "ls", "--quiet");
    const box = await create("sandboxer-odd:1");
    expect(await docker("volume", "ls", "--quiet"), "control").not.toBe(volumes);
    expect(await say(box, "sh", "-c", "touch /data/here && stat -c %a:%u /.sandboxer/run")).toBe("700:0\n");
    await extension().destroy(box.ref, context);
    expect(await docker("volume", "ls", "--quiet")).toBe(volumes);
  });

  it("NS-1 shows a sandbox nothing of the host's control groups", async () => {
    const box = await create(TEST_IMAGE);
    const groups = (await say(box, "cat", "/proc/self/cgroup")).trim().split("\n");
    expect(groups.filter((line) => !line.endsWith(":/"))).toEqual([]);
    const { State } = JSON.parse(await docker("inspect", `sandboxer-${box.ref}`))[0];
    const { stdout } = await run("cat", [`/proc/${State.Pid}/cgroup`]);
    expect(stdout, "control").toContain("/docker/");
    await extension().destroy(box.ref, context);
  });

  it("lists no container that only has a sandbox's labels, as one of an image made of a sandbox", async () => {
    const box = await create(TEST_IMAGE);
    await docker("commit", `sandboxer-${box.ref}`, "sandboxer-copied:1");
    const copied = await docker("create", "--network", "none", "sandboxer-copied:1");
    const labelled = `label=dev.sandboxer.sandbox=${box.ref}`;
    expect(await docker("ps", "--all", "--no-trunc", "--filter", labelled), "control").toContain(copied);
    expect((await extension().list(context)).map(({ ref }) => ref)).toEqual([box.ref]);
    await extension().destroy(box.ref, context);
    expect(await extension().list(context)).toEqual([]);
    await docker("rm", copied);
    await docker("rmi", "sandboxer-copied:1");
  });

  it("NS-10 follows no link that a sandbox's root laid where its socket was", async () => {
    const [victim, box] = [await create(TEST_IMAGE), await create(TEST_IMAGE)];
    await victim.files.write("/tmp/whose", [Buffer.from("the other's")]);
    expect(await say(box, "ls", "-A", "/.sandboxer/run"), "its root has no way to its own boxd").toBe("");
    const script = `cd /.sandboxer/run && ln -s ../${victim.ref}.sock box.sock && echo laid`;
    expect(await say(box, "sh", "-c", script)).toBe("laid\n");
    const reached = await extension().attach(box.ref, context);
    await expect(reached.files.stat("/tmp/whose")).rejects.toMatchObject({ code: "path_not_found" });
    expect((await stat(join(dir, box.ref, "box.sock"))).isSocket(), "control").toBe(true);
    for (const one of [box, reached]) one.close();

    // As of one whose gateway died before it had taken the socket.
    await rm(join(dir, `${box.ref}.sock`));
    for (const _ of [1, 2]) {
      await expect(extension().attach(box.ref, context)).rejects.toMatchObject({ code: "extension_failed" });
    }
    const again = await extension().attach(victim.ref, context);
    expect((await again.files.stat("/tmp/whose")).size, "control").toBe(11);
    for (const { ref } of [victim, box]) await extension().destroy(ref, context);
    expect((await readdir(dir)).filter((name) => name !== "mirrors")).toEqual([]);
  });
});
