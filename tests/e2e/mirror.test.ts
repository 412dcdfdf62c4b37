import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CreateBody } from "@sandboxer/contract";
import { type Gateway, openGateway } from "@sandboxer/gateway";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const local = await requires("linux-userns", "boxd");
const docker = await requires("docker", "boxd");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

/** The same promises wherever the sandbox is. */
function promises(image: () => Partial<CreateBody>, { copies }: { readonly copies: boolean }): void {
  let place: string;
  let project: string;
  let gateway: Gateway;
  const client = () => createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
  const text = (name: string) => readFile(join(project, name), "utf8");
  const create = (mode: "mirror" | "remote") =>
    client().sandboxes.create({ ...image(), ttlMs: 600_000, workspace: { source: project, mode } });

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-mirror-"));
    const listen = { host: "127.0.0.1", port: 0 };
    gateway = await openGateway({ home: join(place, "home"), listen, log: () => {} });
  });
  beforeEach(async () => {
    project = join(place, "project");
    await rm(project, { recursive: true, force: true });
    await mkdir(project);
    await writeFile(join(project, "notes"), "one\n");
  });
  afterAll(async () => {
    await gateway.close();
    await removeEngine(join(place, "home/engine"), place);
  });

  it("a mirror is pushed before a command and pulled after it, and both are kept where both changed", async () => {
    const sandbox = await create("mirror");
    const sh = async (script: string) =>
      Buffer.from((await sandbox.run(["sh", "-c", script])).stdout).toString();
    expect(await sh("pwd; cat notes; echo two >> notes; echo new > new")).toBe("/workspace\none\n");
    expect([await text("notes"), await text("new")]).toEqual(["one\ntwo\n", "new\n"]);
    await writeFile(join(project, "notes"), "from the host\n");
    await rm(join(project, "new"));
    expect(await sh("cat notes; ls")).toBe("from the host\nnotes\n");

    // Both, while a command runs.
    const process = await sandbox.exec({
      argv: ["sh", "-c", "echo inside > notes; echo ready; read x"],
      stdin: true,
    });
    for await (const event of process.events) {
      if (event.type === "stdout") {
        await writeFile(join(project, "notes"), "host, meanwhile\n");
        await process.writeStdin(Buffer.from("\n"));
      }
    }
    expect(await text("notes")).toBe("host, meanwhile\n");
    const [keptAs = ""] = (await readdir(project)).filter((name) => name.startsWith("notes.conflict-"));
    expect(await text(keptAs)).toBe("inside\n");
    expect(await sandbox.workspace.sync()).toMatchObject({ pulled: [], kept: [] });
    const events = await client().events.list({ limit: 1_000 });
    expect(events.filter(({ type }) => type === "workspace.synced").map(({ data }) => data)).toContainEqual(
      expect.objectContaining({ source: project, kept: [{ path: "notes", keptAs }] }),
    );
    await sandbox.destroy();
  });

  it("a remote is seeded once, and does not sync", async () => {
    const sandbox = await create("remote");
    const sh = async (script: string) =>
      Buffer.from((await sandbox.run(["sh", "-c", script])).stdout).toString();
    expect(await sh("pwd; cat notes; echo mine > notes")).toBe("/workspace\none\n");
    expect(await text("notes")).toBe("one\n");
    await writeFile(join(project, "notes"), "host\n");
    expect(await sh("cat notes")).toBe("mine\n");
    await expect(sandbox.workspace.sync()).rejects.toMatchObject({ code: "invalid_request" });
    await sandbox.destroy();
  });

  if (copies)
    it("a copy, and one that was stopped, go on as what they were", async () => {
      const sh = async (sandbox: Sandbox, script: string) =>
        Buffer.from((await sandbox.run(["sh", "-c", script])).stdout).toString();
      for (const mode of ["mirror", "remote"] as const) {
        await rm(join(project, "late"), { force: true });
        await writeFile(join(project, "notes"), "one\n");
        const workspace = { source: project, mode };
        const parent = await client().sandboxes.create({ ...image(), persistence: "persistent", workspace });
        await sh(parent, `echo ${mode} > own`);
        const [copy] = await parent.fork(1);
        if (!copy) throw new Error("there is none");
        expect(copy.info.spec.workspace).toMatchObject(workspace);
        expect(await sh(copy, "cat own; echo copy > own")).toBe(`${mode}\n`);
        await parent.stop();
        await expect(parent.workspace.sync()).rejects.toMatchObject({ code: "invalid_state" });
        await writeFile(join(project, "late"), "late\n");
        await parent.start();
        // The folder is what the two of a mirror have in common; those of a remote have nothing.
        expect(await sh(parent, "cat own notes; ls late 2>/dev/null || true")).toBe(
          mode === "mirror" ? "copy\none\nlate\n" : "remote\none\n",
        );
        expect((await readdir(project)).sort()).toEqual(
          mode === "mirror" ? ["late", "notes", "own"] : ["late", "notes"],
        );
        for (const sandbox of [parent, copy]) await sandbox.destroy();
        expect(await text("notes"), "the folder stays (FS-7)").toBe("one\n");
        await rm(join(project, "own"), { force: true });
      }
    });
  else
    it("a copy is refused by name where its extension cannot make one", async () => {
      const sandbox = await create("mirror");
      await expect(sandbox.fork(1)).rejects.toMatchObject({ code: "unsupported", hint: expect.any(String) });
      await sandbox.destroy();
    });

  it("refuses a sensitive folder by name of the rule", async () => {
    const body = { ...image(), workspace: { source: "/etc", mode: "mirror" } } as const;
    await expect(client().sandboxes.create(body)).rejects.toMatchObject({
      code: "policy_denied",
      details: { rule: "workspace" },
    });
  });
}

local.describe("mirrors on this machine, through the gateway", () => promises(() => ({}), { copies: true }));

docker.describe("mirrors in containers, through the gateway", () => {
  beforeAll(async () => {
    process.env.DOCKER_HOST = docker.given.docker.host;
    await importTestImage(docker.given.docker);
  });
  promises(() => ({ image: { kind: "oci", ref: TEST_IMAGE }, extensions: ["docker"] }), { copies: false });
});

local.describe("mirrors on the command line", () => {
  let home: string;
  afterAll(() => removeEngine(join(home, "home/engine"), home), 60_000);

  it("run, exec and sync know them", async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-mirror-cli-"));
    const project = join(home, "project");
    const cli = cliOf(join(home, "home"));
    await mkdir(project);
    await writeFile(join(project, "notes"), "one\n");
    const ran = await cli.run([
      "run",
      "-w",
      project,
      "--access",
      "mirror",
      "--",
      "sh",
      "-c",
      "cat notes; echo two > notes",
    ]);
    expect(ran).toMatchObject({ code: 0, stdout: "one\n", stderr: "" });
    expect(await readFile(join(project, "notes"), "utf8")).toBe("two\n");
    expect((await cli.run(["create", "--name", "m", "-w", project, "--access", "mirror"])).code).toBe(0);
    // Nobody waits for its end, so it is brought back when it is asked for.
    await cli.run(["exec", "-d", "m", "--", "sh", "-c", "echo late > late"]);
    await vi.waitFor(
      async () => {
        await cli.run(["sync", "m"]);
        expect(await readFile(join(project, "late"), "utf8")).toBe("late\n");
      },
      { timeout: 30_000, interval: 200 },
    );
    expect(JSON.parse((await cli.run(["sync", "m", "--json"])).stdout)).toMatchObject({
      pulled: [],
      pushed: 0,
    });
    await cli.run(["rm", "m"]);
  });
});
