import { Sandbox, Template, Volume } from "@e2b/code-interpreter";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import { type Door, openDoor } from "./door.ts";

const { describe, given } = await requires("docker", "linux-userns", "boxd");

/** A program for E2B. Only the template's name says where it runs. */
async function program(template: string, options: Door["options"]): Promise<object> {
  const sandbox = await Sandbox.create(template, {
    ...options,
    envs: { WORD: "yes" },
    metadata: { of: "both" },
  });
  try {
    const ran = await sandbox.commands.run("id -un; pwd; echo $WORD");
    const asRoot = await sandbox.commands.run("id -u", { user: "root" });
    await sandbox.files.write([
      { path: "box/one", data: "eins" },
      { path: "/tmp/two", data: "zwei" },
    ]);
    const cat = await sandbox.commands.run("cat", { background: true, stdin: true });
    await sandbox.commands.sendStdin(cat.pid, "typed");
    await cat.closeStdin();
    const seen: string[] = [];
    const watch = await sandbox.files.watchDir("box", ({ name }) => void seen.push(name));
    await sandbox.files.write("box/three", "drei");
    await expect.poll(() => seen).toContain("three");
    await watch.stop();
    let shown = "";
    const terminal = await sandbox.pty.create({
      cols: 80,
      rows: 24,
      onData: (data) => {
        shown += new TextDecoder().decode(data);
      },
    });
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("stty size; exit\n"));
    await terminal.wait();
    // The image has a Python without JSON: bash is what both have whole.
    await sandbox.runCode("x=6", { language: "bash" });
    return {
      ran: ran.stdout,
      asRoot: asRoot.stdout,
      read: await sandbox.files.read("/home/user/box/one"),
      listed: (await sandbox.files.list("box")).map(({ name, owner }) => [name, owner]),
      input: (await cat.wait()).stdout,
      terminal: shown.includes("24 80"),
      code: (await sandbox.runCode("echo $((x * 7))", { language: "bash" })).logs.stdout,
      metadata: (await sandbox.getInfo()).metadata,
      signed: await (await fetch(await sandbox.downloadUrl("box/three"))).text(),
    };
  } finally {
    expect(await sandbox.kill()).toBe(true);
  }
}

describe("one program for E2B, on two ways out", () => {
  let door: Door;

  beforeAll(async () => {
    process.env.DOCKER_HOST = given.docker.host;
    await importTestImage(given.docker);
    door = await openDoor();
    const client = createClient({ url: door.url, apiKey: door.gateway.apiKey });
    await client.profiles.publish({
      schema: 1,
      name: "in-docker",
      image: { kind: "oci", ref: TEST_IMAGE },
      extensions: ["docker"],
    });
  }, 300_000);
  afterAll(() => door?.close());

  it("does the same on this machine and in a container", async () => {
    const [here, there] = [await program("base", door.options), await program("in-docker", door.options)];
    expect(there).toEqual(here);
    expect(here).toMatchObject({ ran: "user\n/home/user\nyes\n", code: ["42\n"], input: "typed" });
  }, 300_000);

  it("works on one volume from both", async () => {
    const volume = await Volume.create("shared", door.options);
    for (const template of ["base", "in-docker"]) {
      const sandbox = await Sandbox.create(template, {
        ...door.options,
        volumeMounts: { "/mnt/data": volume },
      });
      await sandbox.commands.run(`echo ${template} >> /mnt/data/log`);
      await sandbox.kill();
    }
    expect(await volume.readFile("/log", { apiUrl: door.url })).toBe("base\nin-docker\n");
    expect(await Volume.destroy(volume.volumeId, door.options)).toBe(true);
  }, 300_000);

  it("pauses nothing on docker, with memory or without, and what runs there runs on", async () => {
    const sandbox = await Sandbox.create("in-docker", door.options);
    const { pid } = await sandbox.commands.run("sleep 600", { background: true, timeoutMs: 0 });
    for (const keepMemory of [true, false]) {
      await expect(sandbox.pause({ keepMemory })).rejects.toThrow("400: docker cannot pause a sandbox");
    }
    expect((await sandbox.commands.list()).map((one) => one.pid)).toContain(pid);
    await sandbox.kill();
  }, 300_000);

  it("makes nothing on docker that is to sleep at its end, and says why", async () => {
    const { core, apiKey } = door.gateway;
    const living = async () =>
      (await core.list(await core.authenticate(apiKey), { states: ["provisioning", "running"] })).sandboxes;
    const before = (await living()).length;
    for (const onTimeout of ["pause", { action: "pause", keepMemory: false }] as const) {
      const asked = { ...door.options, lifecycle: { onTimeout } };
      await expect(Sandbox.create("in-docker", asked)).rejects.toThrow(/400: .*docker: has no pause/s);
    }
    expect(await living()).toHaveLength(before);
  });

  it("builds no template on docker, says so in E2B's words, and leaves nothing", async () => {
    const template = Template().fromTemplate("in-docker").runCmd("true");
    const asked = { ...door.options, requestTimeoutMs: 60_000 };
    const build = await Template.buildInBackground(template, "of-docker", asked);
    const state = () => Template.getBuildStatus(build, asked);
    await expect.poll(async () => (await state()).status, { timeout: 60_000 }).toBe("error");
    expect((await state()).reason?.message).toMatch(/snapshot/);
    expect(await Template.exists("of-docker", asked)).toBe(false);
  });
});
