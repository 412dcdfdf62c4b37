import { Sandbox, Template, Volume } from "@e2b/code-interpreter";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { importTestImage } from "../conformance/docker-image.ts";
import { type Door, openDoor } from "./door.ts";

const { describe, given } = await requires("docker", "linux-userns", "boxd");

const CODE_IMAGE = "sandboxer-code:1";

/** What runs cells, and what each says of the same: a name that stays, a value, what children say. */
const CELLS = {
  python: ["import json, os\nx = 6", "os.system('echo below'); {'x': x * 7}"],
  js: [
    "const { execSync } = require('child_process'); const x = 6",
    "execSync('echo below', { stdio: 'inherit' }); x * 7",
  ],
  ts: ["const x: number = 6", "console.log('below'); x * 7"],
  bash: ["x=6", "echo below; (exit $((x * 7)))"],
};

async function cells(sandbox: Sandbox): Promise<object> {
  const told: Record<string, unknown> = {};
  for (const [language, [name = "", value = ""]] of Object.entries(CELLS)) {
    await sandbox.runCode(name, { language });
    const { text, error, logs, results } = await sandbox.runCode(value, { language });
    const failed = await sandbox.runCode(language === "bash" ? "false" : "nothing_of_this_name", {
      language,
    });
    told[language] = {
      value: text ?? error?.value,
      json: results[0]?.json,
      said: logs.stdout.join(""),
      error: failed.error?.name,
    };
  }
  return told;
}

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
    return {
      ran: ran.stdout,
      asRoot: asRoot.stdout,
      read: await sandbox.files.read("/home/user/box/one"),
      listed: (await sandbox.files.list("box")).map(({ name, owner }) => [name, owner]),
      input: (await cat.wait()).stdout,
      terminal: shown.includes("24 80"),
      code: await cells(sandbox),
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
    await importTestImage(given.docker, CODE_IMAGE, { packages: ["python3", "nodejs"] });
    door = await openDoor();
    const client = createClient({ url: door.url, apiKey: door.gateway.apiKey });
    await client.profiles.publish({
      schema: 1,
      name: "in-docker",
      image: { kind: "oci", ref: CODE_IMAGE },
      extensions: ["docker"],
    });
  }, 300_000);
  afterAll(() => door?.close());

  it("does the same on this machine and in a container", async () => {
    const [here, there] = [await program("base", door.options), await program("in-docker", door.options)];
    expect(there).toEqual(here);
    expect(here).toMatchObject({ ran: "user\n/home/user\nyes\n", input: "typed" });
    const said = { said: "below\n" };
    expect(here).toHaveProperty("code", {
      python: { ...said, value: "{'x': 42}", json: { x: 42 }, error: "NameError" },
      js: { ...said, value: "42", error: "ReferenceError" },
      ts: { ...said, value: "42", error: "ReferenceError" },
      bash: { ...said, value: "42", error: "ExitCode" },
    });
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
