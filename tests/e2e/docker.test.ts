import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { collect, newRowId, newSandboxId } from "@sandboxer/contract";
import { createDockerExtension } from "@sandboxer/extensions/docker";
import { openGateway } from "@sandboxer/gateway";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

const { describe, given } = await requires("docker", "boxd");
const image = { kind: "oci", ref: TEST_IMAGE } as const;
const context = { installationId: newRowId("ins"), orgId: newRowId("org") };

describe("the docker extension", () => {
  let dir: string;
  const run = promisify(execFile);
  const docker = async (...argv: string[]) =>
    (await run(given.docker.cli, ["--host", given.docker.host, ...argv])).stdout.trim();
  const extension = () =>
    createDockerExtension({ dir, socketPath: given.docker.host.replace("unix://", "") });

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-docker-"));
    await importTestImage(given.docker);
  });
  afterAll(() => removeEngine(join(dir, "home/engine"), dir));

  it("comes back to its sandboxes after a restart of the gateway", async () => {
    process.env.DOCKER_HOST = given.docker.host;
    const home = join(dir, "home");
    const open = () => openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: () => {} });
    const first = await open();
    const before = createClient({ url: first.url ?? "", apiKey: first.apiKey });
    const { id } = await before.sandboxes.create({ image, ttlMs: 60_000 });
    await first.close();

    const second = await open();
    try {
      const sandbox = await createClient({ url: second.url ?? "", apiKey: second.apiKey }).sandboxes.get(id);
      const { stdout } = await sandbox.run(["echo", "still here"]);
      expect(Buffer.from(stdout).toString()).toBe("still here\n");
      await sandbox.destroy();
      await expect.poll(() => docker("ps", "--all", "--quiet", "--filter", `name=${id}`)).toBe("");
    } finally {
      await second.close();
    }
  });

  it("lists and removes its own containers, never another's", async () => {
    const foreign = await docker("create", "--label", "dev.sandboxer.installation=other", TEST_IMAGE, "true");
    const sandboxId = newSandboxId();
    await extension().create({ ...PLAIN_SPEC, image }, { ...context, sandboxId });
    expect((await extension().list(context)).map((one) => one.sandboxId)).toEqual([sandboxId]);
    await extension().destroy(sandboxId, context);
    expect(await extension().list(context)).toEqual([]);
    expect(await docker("ps", "--all", "--quiet", "--no-trunc"), "control").toContain(foreign);
    await docker("rm", foreign);
  });

  it("RE-1 clears away the socket folders of containers that are gone, and of no others", async () => {
    const sandboxId = newSandboxId();
    await extension().create({ ...PLAIN_SPEC, image }, { ...context, sandboxId });
    const [gone, young] = [newSandboxId(), newSandboxId()];
    for (const id of [gone, young]) await mkdir(join(dir, id));
    const longAgo = new Date(Date.now() - 7_200_000);
    for (const id of [gone, sandboxId]) await utimes(join(dir, id), longAgo, longAgo);
    await extension().list(context);
    const left = await readdir(dir);
    expect([gone, young, sandboxId].map((id) => left.includes(id))).toEqual([false, true, true]);
    await extension().destroy(sandboxId, context);
    expect(await readdir(dir)).not.toContain(sandboxId);
  });

  it("tells users apart: one who is admitted reads what the ordinary user wrote, and cannot change it", async () => {
    const sandboxId = newSandboxId();
    const box = await extension().create({ ...PLAIN_SPEC, image }, { ...context, sandboxId });
    await box.files.write("mine", [Buffer.from("text")]);
    const [user, again] = await Promise.all([box.users?.admit(20_001), box.users?.admit(20_001)]);
    expect(again).toBe(user);
    const say = async (script: string, who: string | undefined) => {
      const request = { argv: ["sh", "-c", script], env: {}, stdin: false, ...(who && { user: who }) };
      const { stdout, exit } = await collect(await box.exec(request, newRowId("att")));
      return [Buffer.from(stdout).toString(), exit];
    };
    const done = { kind: "exited", code: 0 };
    expect(await say("id -u; cat mine", user)).toEqual(["20001\ntext", done]);
    expect((await say("echo x > mine || echo x > other || rm mine", user))[1]).not.toEqual(done);
    expect(await say("cat mine; echo more > mine", undefined), "control").toEqual(["text", done]);
    await extension().destroy(sandboxId, context);
  });

  it("lets users of their own write one tree, and keeps their processes apart", async () => {
    const sandboxId = newSandboxId();
    const box = await extension().create({ ...PLAIN_SPEC, image }, { ...context, sandboxId });
    await box.files.write("early", [Buffer.from("0\n")]);
    const writes = { writes: true };
    const [one, two] = [await box.users?.admit(20_001, writes), await box.users?.admit(20_002, writes)];
    const start = (argv: string[], user: string | undefined) =>
      box.exec({ argv, env: {}, stdin: false, ...(user && { user }) }, newRowId("att"));
    const say = async (script: string, user: string | undefined) => {
      const { stdout, exit } = await collect(await start(["sh", "-c", script], user));
      return [Buffer.from(stdout).toString(), exit];
    };
    const done = { kind: "exited", code: 0 };
    expect(await say("id -u; umask 077; echo 1 >> early; mkdir d; echo 1 > d/f", one)).toEqual([
      "20001\n",
      done,
    ]);
    expect(await say("id -u; echo 2 >> early; echo 2 >> d/f; cat early d/f", two)).toEqual([
      "20002\n0\n1\n2\n1\n2\n",
      done,
    ]);
    const theirs = await start(["sleep", "300"], one);
    expect((await say(`kill -9 ${theirs.pid} || cat /proc/${theirs.pid}/environ`, two))[1]).not.toEqual(done);
    expect(
      (await say(`cat /proc/${theirs.pid}/environ && kill -9 ${theirs.pid}`, one))[1],
      "control",
    ).toEqual(done);
    await extension().destroy(sandboxId, context);
  });

  it("hardens what it starts", async () => {
    const sandboxId = newSandboxId();
    const box = await extension().create({ ...PLAIN_SPEC, image }, { ...context, sandboxId });
    const [found] = JSON.parse(await docker("inspect", `sandboxer-${sandboxId}`));
    expect(found.HostConfig).toMatchObject({
      NetworkMode: "none",
      Privileged: false,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      AutoRemove: true,
      PidMode: "",
    });
    expect(found.HostConfig.Binds).toHaveLength(2);
    // Newer daemons put a word before each.
    const added = found.HostConfig.CapAdd.map((name: string) => name.replace(/^CAP_/, ""));
    expect(added.sort()).toEqual([
      "CHOWN",
      "DAC_OVERRIDE",
      "FOWNER",
      "FSETID",
      "KILL",
      "NET_BIND_SERVICE",
      "SETGID",
      "SETPCAP",
      "SETUID",
    ]);
    const asked = { argv: ["grep", "CapEff", "/proc/self/status"], env: {}, stdin: false };
    const { stdout } = await collect(await box.exec(asked, newRowId("att")));
    expect(Buffer.from(stdout).toString(), "a program has none of them").toMatch(/^CapEff:\t0+\n$/);
    await extension().destroy(sandboxId, context);
  });

  it("says how to get an image that is not there", async () => {
    const spec = { ...PLAIN_SPEC, image: { kind: "oci", ref: "no/such:image" } } as const;
    const attempt = extension().create(spec, { ...context, sandboxId: newSandboxId() });
    await expect(attempt).rejects.toMatchObject({
      code: "extension_unavailable",
      hint: expect.stringMatching(/docker pull.*docker\.registries/),
    });
  });

  it("is unavailable, with a fix, where no daemon answers", async () => {
    const nowhere = createDockerExtension({ dir, socketPath: join(dir, "nobody.sock") });
    expect(await nowhere.probe()).toMatchObject({
      status: "unavailable",
      fix: expect.stringContaining("docker"),
    });
    await expect(nowhere.list(context)).rejects.toMatchObject({ code: "extension_unavailable" });
  });
});
